"""Metrics as autoscaling/v1 writes them into annotations: flat where v2 has identifiers and targets."""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object
from kapi.api.quantity import Quantity


def _given(**fields: Any) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _reference(reference: Object) -> Object:
    return {"kind": reference.get("kind", ""), "name": reference.get("name", "")} | _given(
        apiVersion=reference.get("apiVersion")
    )


def metric_to_v1(metric: Object) -> Object:
    old: Object = {"type": metric.get("type", "")}
    for field in ("object", "pods", "resource", "containerResource", "external"):
        source = metric.get(field)
        if source is not None:
            old[field] = _source_to_v1(field, source, source.get("metric") or {}, source.get("target") or {})
    return old


def _source_to_v1(field: str, source: Object, metric: Object, target: Object) -> Object:
    name, selector = metric.get("name", ""), metric.get("selector")
    value, average = target.get("value"), target.get("averageValue")
    utilization = target.get("averageUtilization")
    match field:
        case "object":
            return {
                "target": _reference(source.get("describedObject") or {}),
                "metricName": name,
                "targetValue": value or "0",
            } | _given(selector=selector, averageValue=average)
        case "pods":
            return {"metricName": name, "targetAverageValue": average or "0"} | _given(selector=selector)
        case "external":
            return {"metricName": name} | _given(metricSelector=selector, targetValue=value, targetAverageValue=average)
        case _:
            old = {"name": source.get("name", "")} | _given(
                targetAverageUtilization=utilization, targetAverageValue=average
            )
            return old if field == "resource" else old | {"container": source.get("container", "")}


def metric_from_v1(old: Object) -> Object:
    metric: Object = {"type": old.get("type", "")}
    for field in ("object", "pods", "resource", "containerResource", "external"):
        source = old.get(field)
        if source is not None:
            metric[field] = _source_from_v1(field, source)
    return metric


def _source_from_v1(field: str, old: Object) -> Object:
    match field:
        case "object":
            average, value = old.get("averageValue"), old.get("targetValue") or "0"
            # v1 cannot leave the value out; zero means that it was.
            kept = value if average is None or Quantity.parse(str(value)) else None
            kind = "Value" if average is None else "AverageValue"
            return {
                "describedObject": _reference(old.get("target") or {}),
                "target": {"type": kind} | _given(value=kept, averageValue=average),
                "metric": _identifier(old, "selector"),
            }
        case "pods":
            target = {"type": "AverageValue", "averageValue": old.get("targetAverageValue") or "0"}
            return {"metric": _identifier(old, "selector"), "target": target}
        case "external":
            value = old.get("targetValue")
            target = {"type": "AverageValue" if value is None else "Value"} | _given(
                value=value, averageValue=old.get("targetAverageValue")
            )
            return {"metric": _identifier(old, "metricSelector"), "target": target}
        case _:
            utilization = old.get("targetAverageUtilization")
            target = {"type": "AverageValue" if utilization is None else "Utilization"} | _given(
                averageValue=old.get("targetAverageValue"), averageUtilization=utilization
            )
            source = {"name": old.get("name", ""), "target": target}
            return source if field == "resource" else source | {"container": old.get("container", "")}


def _identifier(old: Object, selector: str) -> Object:
    return {"name": old.get("metricName", "")} | _given(selector=old.get(selector))


def status_to_v1(status: Object) -> Object:
    old: Object = {"type": status.get("type", "")}
    for field in ("object", "pods", "resource", "containerResource", "external"):
        source = status.get(field)
        if source is not None:
            old[field] = _status_source_to_v1(field, source, source.get("metric") or {}, source.get("current") or {})
    return old


def _status_source_to_v1(field: str, source: Object, metric: Object, current: Object) -> Object:
    name, selector = metric.get("name", ""), metric.get("selector")
    value, average = current.get("value") or "0", current.get("averageValue")
    match field:
        case "object":
            return {
                "target": _reference(source.get("describedObject") or {}),
                "metricName": name,
                "currentValue": value,
            } | _given(selector=selector, averageValue=average)
        case "pods":
            return {"metricName": name, "currentAverageValue": average or "0"} | _given(selector=selector)
        case "external":
            old = {"metricName": name} | _given(metricSelector=selector)
            return old | {"currentValue": value} | _given(currentAverageValue=average)
        case _:
            old = {"name": source.get("name", "")} | _given(currentAverageUtilization=current.get("averageUtilization"))
            old["currentAverageValue"] = average or "0"
            return old if field == "resource" else old | {"container": source.get("container", "")}


def status_from_v1(old: Object) -> Object:
    status: Object = {"type": old.get("type", "")}
    for field in ("object", "pods", "resource", "containerResource", "external"):
        source = old.get(field)
        if source is not None:
            status[field] = _status_source_from_v1(field, source)
    return status


def _status_source_from_v1(field: str, old: Object) -> Object:
    match field:
        case "object":
            current = {"value": old.get("currentValue") or "0"} | _given(averageValue=old.get("averageValue"))
            return {
                "describedObject": _reference(old.get("target") or {}),
                "current": current,
                "metric": _identifier(old, "selector"),
            }
        case "pods":
            current = {"averageValue": old.get("currentAverageValue") or "0"}
            return {"metric": _identifier(old, "selector"), "current": current}
        case "external":
            current = {"value": old.get("currentValue") or "0"} | _given(averageValue=old.get("currentAverageValue"))
            return {"metric": _identifier(old, "metricSelector"), "current": current}
        case _:
            current = {"averageValue": old.get("currentAverageValue") or "0"} | _given(
                averageUtilization=old.get("currentAverageUtilization")
            )
            source = {"name": old.get("name", ""), "current": current}
            return source if field == "resource" else source | {"container": old.get("container", "")}
