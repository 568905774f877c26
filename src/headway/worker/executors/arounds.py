"""What an app wants around each of its handlers: generators that yield while the handler runs.

The handler's result is what `yield` gives, and what it raises is raised there. An error that is
caught there is the outcome all the same, unless another one is raised in its place.
"""

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any

from headway.domain.handlers import Around, Handler

if TYPE_CHECKING:
    from headway.worker.context import JobContext


def within(handler: Handler, ctx: "JobContext", call: Callable[[], Any]) -> Callable[[], Any]:
    """The call inside everything that its app has around it, the first one outermost."""
    inside = _inside_async if handler.is_async else _inside
    for around in reversed(handler.arounds):
        call = partial(inside, around, ctx, call)
    return call


def _inside(around: Around, ctx: "JobContext", call: Callable[[], Any]) -> Any:
    if inspect.isasyncgenfunction(around):
        return _inside_on_a_loop(around, ctx, call)
    generator: Generator[None, Any, None] = around(ctx)
    _begin(generator)
    try:
        result = call()
    except BaseException as error:
        _fail(generator, error)
        raise
    _end(generator, result)
    return result


def _inside_on_a_loop(around: Around, ctx: "JobContext", call: Callable[[], Any]) -> Any:
    """An async one around a plain handler has a loop of its own while it is not at its `yield`."""
    # Most handlers need it not, and it is large.
    import asyncio

    with asyncio.Runner() as runner:
        generator: AsyncGenerator[None, Any] = around(ctx)
        runner.run(_begin_async(generator))
        try:
            result = call()
        except BaseException as error:
            runner.run(_fail_async(generator, error))
            raise
        runner.run(_end_async(generator, result))
        return result


async def _inside_async(
    around: Around, ctx: "JobContext", call: Callable[[], Awaitable[Any]]
) -> Any:
    if not inspect.isasyncgenfunction(around):
        plain: Generator[None, Any, None] = around(ctx)
        _begin(plain)
        try:
            result = await call()
        except BaseException as error:
            _fail(plain, error)
            raise
        _end(plain, result)
        return result
    generator: AsyncGenerator[None, Any] = around(ctx)
    await _begin_async(generator)
    try:
        result = await call()
    except BaseException as error:
        await _fail_async(generator, error)
        raise
    await _end_async(generator, result)
    return result


def _begin(generator: Generator[None, Any, None]) -> None:
    try:
        next(generator)
    except StopIteration:
        raise _not_once(generator) from None


def _end(generator: Generator[None, Any, None], result: Any) -> None:
    try:
        generator.send(result)
    except StopIteration:
        return
    raise _not_once(generator)


def _fail(generator: Generator[None, Any, None], error: BaseException) -> None:
    try:
        generator.throw(error)
    except StopIteration:
        return
    except BaseException as other:
        if _is_same(other, error):
            return
        raise
    raise _not_once(generator)


async def _begin_async(generator: AsyncGenerator[None, Any]) -> None:
    try:
        await anext(generator)
    except StopAsyncIteration:
        raise _not_once(generator) from None


async def _end_async(generator: AsyncGenerator[None, Any], result: Any) -> None:
    try:
        await generator.asend(result)
    except StopAsyncIteration:
        return
    raise _not_once(generator)


async def _fail_async(generator: AsyncGenerator[None, Any], error: BaseException) -> None:
    try:
        await generator.athrow(error)
    except StopAsyncIteration:
        return
    except BaseException as other:
        if _is_same(other, error):
            return
        raise
    raise _not_once(generator)


def _not_once(generator: object) -> RuntimeError:
    return RuntimeError(f"{getattr(generator, '__name__', generator)} must yield exactly once")


def _is_same(other: BaseException, error: BaseException) -> bool:
    """Whether a generator let an error through; Python wraps one that looks like its own end."""
    return other is error or (
        isinstance(other, RuntimeError)
        and other.__cause__ is error
        and isinstance(error, StopIteration | StopAsyncIteration)
    )
