"""A user, as the API shows one."""

from __future__ import annotations

from kapi.api.objects import Object
from kapi.api.user import User


def user_info(user: User) -> Object:
    shown: Object = {"username": user.name}
    if user.uid:
        shown["uid"] = user.uid
    if user.groups:
        shown["groups"] = list(user.groups)
    if user.extra:
        shown["extra"] = {key: list(values) for key, values in sorted(user.extra.items())}
    return shown
