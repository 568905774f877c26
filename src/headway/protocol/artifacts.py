"""Operations on custom artifacts."""

from headway.domain.answers import MarkerView
from headway.domain.manage.tokens import Role
from headway.protocol.operation import Page, Paging, operation

ONE = "/api/artifacts/custom/{type}/{key}"

list_artifacts = operation(
    "GET", "/api/artifacts", Role.READ, query=Paging, answer=Page[MarkerView]
)
get_artifact = operation("GET", ONE, Role.READ, answer=MarkerView)
put_artifact = operation("PUT", ONE, Role.SUBMIT, answer=MarkerView)
delete_artifact = operation("DELETE", ONE, Role.SUBMIT, answer=MarkerView)
