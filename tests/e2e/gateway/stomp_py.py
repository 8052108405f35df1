# SPDX-License-Identifier: Apache-2.0
"""stomp.py against a gateway: connects, subscribes, hears of a change, leaves, and hears of what it missed.

    python3 stomp_py.py CACHE URL TOKEN
"""
import json
import queue
import sys
import urllib.parse
import urllib.request

cache, url, token = sys.argv[1:4]
sys.path.insert(0, cache + "/python")
import stomp  # noqa: E402

PATIENCE = 60


def change(value):
    body = json.dumps({"name": "a", "externalScheduler": {"told": [{"value": value}]}}).encode()
    request = urllib.request.Request(url + "/external/jobs/", data=body, method="PUT")
    request.add_header("Authorization", "Bearer " + token)
    urllib.request.urlopen(request, timeout=PATIENCE).read()


class Heard(stomp.ConnectionListener):
    def __init__(self):
        self.messages, self.receipts = queue.Queue(), queue.Queue()

    def on_message(self, frame):
        self.messages.put(frame)

    def on_receipt(self, frame):
        self.receipts.put(frame.headers["receipt-id"])

    def on_error(self, frame):
        print("ERROR", frame.headers, frame.body, file=sys.stderr)


def connected(**headers):
    where = urllib.parse.urlsplit(url)
    connection = stomp.WSStompConnection([(where.hostname, where.port)], ws_path="/scheduler",
                                         header={"Authorization": "Bearer " + token}, heartbeats=(20000, 10000))
    heard = Heard()
    connection.set_listener("", heard)
    connection.connect(wait=True)
    connection.subscribe("/topic/jobs/a", id="0", headers={"receipt": "ready", **headers})
    assert heard.receipts.get(timeout=PATIENCE) == "ready"
    return connection, heard


def value(frame):
    return json.loads(frame.body)["resource"]["externalScheduler"].get("told", [{}])[0].get("value")


def until(heard, last):
    """The first frame of every value up to `last`: the job's controller writes its status too."""
    frames = {}
    while last not in frames:
        frame = heard.messages.get(timeout=PATIENCE)
        frames.setdefault(value(frame), frame)
    return frames


connection, heard = connected()
change("py1")
first = until(heard, "py1")["py1"]
assert first.headers["seq"] == first.headers["resourceVersion"]
connection.disconnect()
change("py2")
change("py3")
connection, heard = connected(cursor=first.headers["cursor"])
assert [one for one in until(heard, "py3") if one != "py1"] == ["py2", "py3"]
connection.disconnect()
