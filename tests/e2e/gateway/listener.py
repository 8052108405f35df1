# SPDX-License-Identifier: Apache-2.0
"""Prints what a subscriber hears: listener.py HOST:PORT TOKEN DESTINATION...

A line a frame: its command, its destination, its body. STOMP 1.2 over a WebSocket with nothing but sockets, so that it runs everywhere.
"""
import socket
import struct
import sys

where, token, destinations = sys.argv[1], sys.argv[2], sys.argv[3:]
connection = socket.create_connection(where.split(":"))
stream = connection.makefile("rb")


def say(command, **headers):
    lines = [command] + [f"{name.replace('_', '-')}:{value}" for name, value in headers.items()]
    frame = ("\n".join(lines) + "\n\n\0").encode()
    size = bytes([0x80 | len(frame)]) if len(frame) < 126 else struct.pack("!BH", 0x80 | 126, len(frame))
    connection.sendall(b"\x81" + size + b"\0\0\0\0" + frame)  # a mask of zeros is one, too


def hear():
    size = stream.read(2)[1]
    if size >= 126:
        kind = "!H" if size == 126 else "!Q"
        (size,) = struct.unpack(kind, stream.read(struct.calcsize(kind)))
    for frame in stream.read(size).decode().split("\0"):
        head, _, body = frame.strip("\n").partition("\n\n")
        if head:
            command, *lines = head.split("\n")
            print(command, dict(line.split(":", 1) for line in lines).get("destination", ""), body, flush=True)


connection.sendall((f"GET /scheduler HTTP/1.1\r\nHost: {where}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: v12.stomp\r\n"
                    f"Authorization: Bearer {token}\r\n\r\n").encode())
status = stream.readline().decode()
print(status.strip(), flush=True)
while stream.readline().strip():
    pass
say("CONNECT", accept_version="1.2", host="h")
hear()
for number, destination in enumerate(destinations):
    say("SUBSCRIBE", id=number, destination=destination, receipt=number)
while True:
    hear()
