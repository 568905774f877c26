"""The trees of a damaged file: every cell that can be reached, and pages that were cut off."""

from collections.abc import Iterator

from headway.storage.sqlite.salvage import cells
from headway.storage.sqlite.salvage.cells import Cell, Unreadable
from headway.storage.sqlite.salvage.pages import MAGIC, Image

SCHEMA_ROOT = 1


class Trees:
    """Walks the trees of an image; remembers which pages were seen."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self._used: set[int] = set()
        self._used |= self._free_pages()

    def roots(self) -> tuple[dict[str, int], int]:
        """The first page of each table and index that the schema tells, and damaged pages of it."""
        found: dict[str, int] = {}
        walk = Walk(self, SCHEMA_ROOT)
        for cell in walk:
            if cell.values and len(cell.values) == 5:
                _, name, _, root, _ = cell.values
                if isinstance(name, str) and isinstance(root, int) and root > 0:
                    found[name] = root
        return found, walk.damaged

    def cut_off(self) -> Iterator[list[Cell]]:
        """The cells of each page with records that no tree led to."""
        for number in range(1, self.image.count + 1):
            if number in self._used:
                continue
            try:
                page = cells.read_page(self.image, number)
            except Unreadable:
                continue
            if page.kind == cells.TABLE_INNER:
                continue
            found = list(self.read_cells(page)[0])
            if found:
                yield found

    def take(self, number: int) -> bool:
        """Use a page; False if it was used before: then something leads to it wrongly."""
        if number in self._used:
            return False
        self._used.add(number)
        return True

    def read_cells(self, page: cells.Page) -> tuple[list[Cell], int]:
        """The cells of a page that can be read, and how many cannot."""
        found, bad = [], 0
        for at in page.cells:
            try:
                found.append(cells.read_cell(self.image, page, at, self._used))
            except Unreadable:
                bad += 1
        return found, bad

    def _free_pages(self) -> set[int]:
        """Pages that are in use by nothing, with whatever they held before."""
        first = self.image.page(1)
        free: set[int] = set()
        if first is None or not first.startswith(MAGIC):
            return free
        trunk = int.from_bytes(first[32:36], "big")
        while trunk and trunk not in free and (content := self.image.page(trunk)):
            free.add(trunk)
            count = int.from_bytes(content[4:8], "big")
            if count <= self.image.usable // 4 - 2:
                leaves = content[8 : 8 + 4 * count]
                free |= {
                    int.from_bytes(leaves[at : at + 4], "big") for at in range(0, 4 * count, 4)
                }
            trunk = int.from_bytes(content[:4], "big")
        return free


class Walk:
    """All cells of one tree; afterwards, how many pages and cells could not be read."""

    def __init__(self, trees: Trees, root: int | None) -> None:
        self._trees = trees
        self._root = root
        self.damaged = 0 if root else 1
        self.bad_cells = 0

    def __iter__(self) -> Iterator[Cell]:
        waiting = [self._root] if self._root else []
        while waiting:
            number = waiting.pop()
            try:
                if not self._trees.take(number):
                    raise Unreadable
                page = cells.read_page(self._trees.image, number)
            except Unreadable:
                self.damaged += 1
                continue
            found, bad = self._trees.read_cells(page)
            self.bad_cells += bad
            waiting += [cell.child for cell in found if cell.child]
            if page.last_child:
                waiting.append(page.last_child)
            yield from (cell for cell in found if cell.values is not None)
