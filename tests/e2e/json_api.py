"""The server's JSON API, as a script without any of our code would call it."""

import base64
import contextlib
import http.client
import json
import os
import time


def now_ms():
    return time.time_ns() // 1_000_000


def incarnation():
    return base64.b64encode(os.urandom(16)).decode()


class ApiError(Exception):
    """An answer other than 200, taken apart."""

    def __init__(self, status, body):
        self.status = status
        self.body = body
        self.message = body.get("message", "")
        details = {detail.get("@type", "").rsplit(".", 1)[-1]: detail for detail in body.get("details", [])}
        info = details.get("ErrorInfo", {})
        self.reason = info.get("reason", "")
        self.domain = info.get("domain", "")
        self.metadata = info.get("metadata", {})
        self.retry_delay = details.get("RetryInfo", {}).get("retryDelay")
        self.violations = {violation["field"]: violation["description"]
                           for violation in details.get("BadRequest", {}).get("fieldViolations", [])}
        super().__init__(f"HTTP {status} {self.reason}: {self.message}")


class Api:
    """One call per method; answers are the decoded JSON, failures ApiError."""

    def __init__(self, port):
        self.port = port

    def raw(self, path, body, headers=None, method="POST", timeout=15):
        """(status, headers, body bytes) of one request, sent as it is."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.request(method, path, body, {"Content-Type": "application/json", **(headers or {})})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def post(self, path, body, headers=None):
        data = body if isinstance(body, (str, bytes)) else json.dumps(body)
        status, _, text = self.raw(path, data, headers)
        answer = json.loads(text)
        if status != 200:
            raise ApiError(status, answer)
        return answer

    def claim(self, namespace="orders", instance="i", **fields):
        """The granted lease; `fields` add to the request or replace parts of it, None leaves one out."""
        body = {"namespace": namespace, "instanceId": instance, "incarnationId": incarnation(),
                "machineBits": 10, "clientTimeMs": now_ms(), **fields}
        return self.post("/v1/machine-ids:claim",
                         {key: value for key, value in body.items() if value is not None})["lease"]

    @staticmethod
    def _grant(lease):
        return {key: lease[key] for key in ("namespace", "machineId", "instanceId", "token")}

    def renew(self, lease, last=None, **fields):
        body = {**self._grant(lease), "clientTimeMs": now_ms(), **fields}
        if last is not None:
            body["lastTimestampMs"] = last
        return self.post("/v1/machine-ids:renew", body)["lease"]

    def release(self, lease, last=0, **fields):
        """`last` None: unknown, an unclean end."""
        body = {**self._grant(lease), **fields}
        if last is not None:
            body["lastTimestampMs"] = last
        return self.post("/v1/machine-ids:release", body)

    def watermark(self, namespace, machine_id, lease=None, raise_to=None):
        body = {"namespace": namespace, "machineId": machine_id}
        if lease is not None:
            body["raise"] = {"instanceId": lease["instanceId"], "token": lease["token"], "raiseToMs": raise_to}
        return int(self.post("/v1/machine-ids:watermark", body)["watermarkMs"])

    def admin(self, rpc, **fields):
        return self.post(f"/v1/admin:{rpc}", fields)

    def leases(self, namespace, state=None):
        """All records of a namespace, page by page."""
        records, token = [], ""
        while True:
            query = {"namespace": namespace, "pageSize": 1000, "pageToken": token}
            if state:
                query["state"] = f"LEASE_STATE_{state}"
            page = self.admin("listLeases", **query)
            records += page.get("leases", [])
            token = page.get("nextPageToken", "")
            if not token:
                return records
