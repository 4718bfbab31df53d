"""The events of one request: what is known of it, written as audit.k8s.io/v1 JSON when a stage is reached.

An event is its JSON from here on: it was true when it was written, and no later stage can change it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import orjson

from kapi.api.call import Call
from kapi.api.clock import Clock, rfc3339_micro
from kapi.api.duration import SECOND, format_duration
from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.audit.managed_fields import without_managed_fields
from kapi.audit.policy import Decision, Level
from kapi.audit.source_ips import source_ips
from kapi.audit.status import read_status
from kapi.telemetry.log import log
from kapi.wire.messages import Response

# What an event begins with by itself, and is without in a list of events.
TYPE_META = b'{"kind":"Event","apiVersion":"audit.k8s.io/v1",'
_LONGEST_USER_AGENT = 1024
_SLOW = 0.5  # seconds
_STATUS = b'{"kind":"Status"'
_NOTHING: Object = {}
_NAMING = ("namespace", "name", "uid", "resourceVersion")
_STATUS_FIELDS = ("status", "message", "reason", "details")


class Record:
    """What is known so far of one audited request, beside what its call says.

    It does not hold the call, which holds it: a cycle in every request would be work for the garbage collector.
    """

    __slots__ = (
        "_about",
        "_clock",
        "_constraint",
        "_decision",
        "_impersonated",
        "_latencies",
        "_received",
        "_request_object",
        "_response_object",
        "_sent",
        "_user",
        "omitted",
        "status",
        "takes_requests",
        "takes_responses",
    )

    def __init__(self, user: User | None, decision: Decision, clock: Clock) -> None:
        self._user = user
        self._decision = decision
        self._clock = clock
        self._impersonated: User | None = None
        self._constraint = ""
        self._about: bytes | None = None  # what all events have, encoded; None when it has to be encoded anew
        self._sent: Object = _NOTHING  # the metadata of the object that was sent
        self._request_object: bytes | None = None
        self._response_object: bytes | None = None
        self._received = ""
        self._latencies: dict[str, float] = {}
        self.status: Object | None = None
        self.omitted = decision.omit_stages
        self.takes_requests = decision.level >= Level.REQUEST
        self.takes_responses = decision.level >= Level.REQUEST_RESPONSE

    # What handlers add

    def impersonated(self, user: User, constraint: str) -> None:
        self._impersonated = user
        self._constraint = constraint
        self._about = None

    def request_object(self, obj: Object) -> None:
        self._sent = {key: value for key, value in (obj.get("metadata") or _NOTHING).items() if key in _NAMING}
        self._about = None
        if self.takes_requests:
            if self._decision.omit_managed_fields:
                obj = without_managed_fields(obj)
            self._request_object = self._encoded({"kind": obj["kind"], "apiVersion": obj["apiVersion"], **obj})

    def request_patch(self, patch: Any) -> None:
        if self.takes_requests:
            self._request_object = self._encoded(patch)

    def response_object(self, body: bytes) -> None:
        if body.startswith(_STATUS):
            self._take_status(orjson.loads(body))
        elif self.takes_responses:
            if self._decision.omit_managed_fields and b'"managedFields"' in body:
                body = orjson.dumps(without_managed_fields(orjson.loads(body)))
            self._response_object = body.rstrip()

    def response_parts(self, parts: Iterable[bytes]) -> Iterator[bytes]:
        if not self.takes_responses:
            yield from parts
            return
        seen = []
        for part in parts:
            seen.append(part)
            yield part
        self.response_object(b"".join(seen))

    def spent(self, layer: str, seconds: float) -> None:
        self._latencies[layer] = self._latencies.get(layer, 0.0) + seconds

    # What the filter adds

    def answered(self, response: Response) -> None:
        if response.status >= 400 and self.status is None and (status := read_status(response)) is not None:
            self._take_status(status)
        self.status = {**(self.status or {"metadata": {}}), "code": response.status}

    def failed(self, code: int, reason: str, message: str) -> None:
        """It ended without an answer."""
        self.status = {"metadata": {}, "status": "Failure", "message": message, "reason": reason, "code": code}

    def _take_status(self, status: Object) -> None:
        self.status = {"metadata": {}, **{key: status[key] for key in _STATUS_FIELDS if key in status}}
        if self.takes_responses:
            self._response_object = orjson.dumps(status)

    def _encoded(self, value: Any) -> bytes | None:
        try:
            return orjson.dumps(value)
        except TypeError as error:
            # As upstream: the event is written without what cannot be.
            log.error("audit_object_not_encoded", error=str(error))
            return None

    # Writing

    def event(self, call: Call, stage: str) -> bytes:
        """The event of a stage that has just been reached.

        Put together from pieces: what stays the same from stage to stage is encoded once, and what few users, answers
        and annotations there are is known already.
        """
        about = self._about
        if about is None:
            about = self._about = self._described(call)
        now = self._clock.now()
        if not self._received:
            self._received = rfc3339_micro(now - (self._clock.monotonic() - call.received))
        if stage == "ResponseComplete":
            self._tell_latencies(call)
        reached = self._received if stage == "RequestReceived" else rfc3339_micro(now)
        pieces = [
            b'%b"level":"%b","auditID":%b,"stage":"%b",%b'
            % (TYPE_META, self._decision.label.encode(), orjson.dumps(call.audit_id), stage.encode(), about)
        ]
        if self.status is not None:
            pieces.append(b',"responseStatus":%b' % orjson.dumps(self.status))
        if self._request_object is not None:
            pieces.append(b',"requestObject":%b' % self._request_object)
        if self._response_object is not None:
            pieces.append(b',"responseObject":%b' % self._response_object)
        times = f',"requestReceivedTimestamp":"{self._received}","stageTimestamp":"{reached}"'
        pieces.append(times.encode())
        if call.annotations:
            pieces.append(b',"annotations":%b' % _encoded_annotations(tuple(call.annotations.items())))
        pieces.append(b"}")
        return b"".join(pieces)

    def _tell_latencies(self, call: Call) -> None:
        """As upstream: where a request that was slow spent its time."""
        total = self._clock.monotonic() - call.received
        if total <= _SLOW or call.long_running:
            return
        for layer, seconds in (*self._latencies.items(), ("total", total)):
            if seconds:
                call.annotations[f"apiserver.latency.k8s.io/{layer}"] = format_duration(round(seconds * SECOND))

    def _described(self, call: Call) -> bytes:
        """What is asked for and by whom, from `requestURI` to `objectRef`."""
        request, info = call.request, call.info
        target = f"{request.path}?{request.query}" if request.query else request.path
        pieces = [
            b'"requestURI":%b,"verb":"%b","user":%b' % (orjson.dumps(target), info.verb.encode(), _user(self._user))
        ]
        if self._impersonated is not None:
            pieces.append(b',"impersonatedUser":%b' % _user(self._impersonated))
            if self._constraint:
                constraint = {"impersonationConstraint": self._constraint}
                pieces.append(b',"authenticationMetadata":%b' % orjson.dumps(constraint))
        pieces.append(b',"sourceIPs":%b' % orjson.dumps(source_ips(request)))
        if agent := request.headers.get("user-agent"):
            pieces.append(b',"userAgent":%b' % orjson.dumps(_user_agent(agent)))
        if info.is_resource_request:
            pieces.append(b',"objectRef":%b' % orjson.dumps(_object_ref(info, self._sent)))
        return b"".join(pieces)


@lru_cache(maxsize=1024)
def _encoded_annotations(annotations: tuple[tuple[str, str], ...]) -> bytes:
    return orjson.dumps(dict(sorted(annotations)))


def _user(user: User | None) -> bytes:
    if user is None:
        return b"{}"
    if user.extra:
        return orjson.dumps(_user_info(user))
    return _plain_user(user.name, user.uid, user.groups)


@lru_cache(maxsize=1024)
def _plain_user(name: str, uid: str, groups: tuple[str, ...]) -> bytes:
    return orjson.dumps(_user_info(User(name=name, uid=uid, groups=groups)))


def _user_info(user: User) -> Object:
    info: Object = {}
    if user.name:
        info["username"] = user.name
    if user.uid:
        info["uid"] = user.uid
    if user.groups:
        info["groups"] = user.groups
    if user.extra:
        info["extra"] = dict(sorted(user.extra.items()))
    return info


def _object_ref(info: RequestInfo, sent: Object) -> Object:
    """What the path does not say, the object that was sent may."""
    reference: Object = {"resource": info.resource}
    if namespace := info.namespace or sent.get("namespace"):
        reference["namespace"] = namespace
    if name := info.name or info.selected_name or sent.get("name"):
        reference["name"] = name
    if uid := sent.get("uid"):
        reference["uid"] = uid
    if info.api_group:
        reference["apiGroup"] = info.api_group
    reference["apiVersion"] = info.api_version
    if version := sent.get("resourceVersion"):
        reference["resourceVersion"] = version
    if info.subresource:
        reference["subresource"] = info.subresource
    return reference


def _user_agent(agent: str) -> str:
    return agent if len(agent) <= _LONGEST_USER_AGENT else f"{agent[:_LONGEST_USER_AGENT]}...TRUNCATED"
