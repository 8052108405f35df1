# SPDX-License-Identifier: Apache-2.0
"""A small client of Berth's external-scheduler interface: what is free, what runs, what ran, and how to
order the next. Standard library only, so that a scheduler is one file beside this one.

    esi = Esi.from_environment()             # BERTH_URL and BERTH_TOKEN, as `berth up` prints them
    esi.submit("mine", "testbed-1", queue=["sort", "sort", "crawl"])
    esi.wait_for("mine")
"""
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request


class Refused(Exception):
    """The server's answer was an error. Its text says what to do about it."""

    def __init__(self, status, text):
        super().__init__(f"{status}: {text}")
        self.status = status


# Of a Scheduling's conditions: it goes no further until somebody mends what is named.
STUCK = ("JobFailed", "InvalidSlot", "DuplicateJob")


class Esi:
    def __init__(self, url, token=None, namespace=None, ca_file=None):
        # Without a namespace the gateway's own is meant, as in the thesis.
        self.base = url.rstrip("/") + (f"/external/v1/namespaces/{namespace}" if namespace else "/external/v1")
        self.token = token
        self.tls = ssl.create_default_context(cafile=ca_file) if url.startswith("https") else None

    @classmethod
    def from_environment(cls):
        url = os.environ.get("BERTH_URL")
        if not url:
            raise SystemExit("BERTH_URL is not set: give it the address that `berth up` prints, without what follows '#'")
        return cls(url, os.environ.get("BERTH_TOKEN"), os.environ.get("BERTH_NAMESPACE"), os.environ.get("BERTH_CA_FILE"))

    # What there is.
    def testbeds(self):
        return self._call("GET", "/testbeds")

    def testbed(self, name):
        return self._call("GET", f"/testbeds/{_quoted(name)}")

    def jobs(self):
        return self._call("GET", "/jobs")  # by name

    def job(self, name):
        return self._call("GET", f"/jobs/{_quoted(name)}")

    def schedulings(self):
        return self._call("GET", "/schedulings")

    def scheduling(self, name):
        return self._call("GET", f"/schedulings/{_quoted(name)}")

    # What is wanted.
    def submit(self, name, testbed, queue=None, slots=None, mode="strict"):
        """A queue of job names (one executor an entry), or slots: {job: [slot, ...]}."""
        wanted = {"name": name, "testBed": testbed}
        if queue is not None:
            wanted["queue"] = list(queue)
        if slots is not None:
            wanted["slots"] = {"mode": mode, "jobs": [{"name": job, "slots": list(ids)} for job, ids in slots.items()]}
        return self._call("POST", "/schedulings", wanted)

    def delete(self, name):
        """Returns when it is gone: its jobs are free then, and so is its name."""
        try:
            self._call("DELETE", f"/schedulings/{_quoted(name)}")
        except Refused as refused:
            if refused.status not in (304, 404):  # it is gone, which is what was wanted
                raise
        there, synced = False, False
        for _, action, seen in self.events("schedulings"):
            if action == "RESET":
                there, synced = False, False
            elif isinstance(seen, dict) and seen.get("name") == name:
                there = action != "DELETED"
            synced = synced or action == "SYNCED"
            if synced and not there:
                return

    def remember(self, job, data):
        """Keeps data of ours with the job, across its runs."""
        return self._call("PUT", "/jobs/", {"name": job, "externalScheduler": data})

    # What happens.
    def events(self, *kinds):
        """(kind, action, object) for ever, beginning with what there is; nothing is missed between two connections."""
        cursor = None
        while True:
            request = self._request("GET", self.base + "/events?" + urllib.parse.urlencode({"kinds": ",".join(kinds)}))
            if cursor:
                request.add_header("Last-Event-ID", cursor)
            try:
                with self._open(request, timeout=60) as stream:
                    for event in read_events(stream):
                        cursor = event.get("id", cursor)
                        if "data" in event:
                            told = json.loads(event["data"])
                            yield told.get("kind"), told.get("action"), told.get("resource")
            except (ConnectionError, TimeoutError, urllib.error.URLError):
                time.sleep(1)
            except Refused as refused:
                if refused.status < 500:
                    raise
                time.sleep(1)  # it is busy or not there yet, and what was missed will be told

    def wait_for(self, name, state="Completed"):
        """Returns the Scheduling once it is in that state; raises if it cannot get there by itself. It waits for
        a job or a testbed that is not there yet."""
        for _, action, seen in self.events("schedulings"):
            if not isinstance(seen, dict) or seen.get("name") != name:
                continue
            if action == "DELETED":
                raise Refused(404, f"Scheduling {name} was deleted while it was waited for")
            if seen.get("state") == state:
                return seen
            for condition in seen.get("conditions") or []:
                if condition.get("status") == "False" and condition.get("reason") in STUCK:
                    raise Refused(409, f"{condition['reason']}: {condition.get('message', '')}. {condition.get('remedy', '')}")
        raise AssertionError("the stream never ends")

    def _request(self, method, url, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data=data, method=method)
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        return request

    def _open(self, request, timeout=30):
        while True:
            try:
                return urllib.request.urlopen(request, timeout=timeout, context=self.tls)
            except urllib.error.HTTPError as error:
                if error.code != 429:
                    raise Refused(error.code, _message(error)) from None
                # It counts requests and has done nothing about this one; it says when to come back.
                time.sleep(float(error.headers.get("Retry-After", 1)))

    def _call(self, method, path, body=None):
        with self._open(self._request(method, self.base + path, body)) as reply:
            text = reply.read()
        return json.loads(text) if text else None


def read_events(lines):
    """Server-sent events from lines of bytes: a dictionary each."""
    event, data = {}, []
    for line in lines:
        line = line.decode().rstrip("\r\n")
        if not line:
            if data:
                event["data"] = "\n".join(data)
            if event:
                yield event
            event, data = {}, []
        elif not line.startswith(":"):  # a comment keeps the connection alive
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            data.append(value) if field == "data" else event.__setitem__(field, value)


def _quoted(name):
    return urllib.parse.quote(name, safe="")


def _message(error):
    text = error.read().decode(errors="replace")
    try:
        return json.loads(text).get("message", text)
    except (ValueError, AttributeError):
        return text or error.reason
