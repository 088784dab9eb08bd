"""Many plaintext gRPC connections, each of which has made one call, without a gRPC library."""

import socket
import struct


def _frame(kind, flags, stream, payload):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream) + payload


def _literal(name, value):
    """A header in HPACK without compression."""
    return b"\x10" + bytes((len(name),)) + name + bytes((len(value),)) + value


def health_call():
    """The bytes of an HTTP/2 connection whose first stream calls Health/Check."""
    headers = b"".join(_literal(name, value) for name, value in (
        (b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/grpc.health.v1.Health/Check"),
        (b":authority", b"localhost"), (b"content-type", b"application/grpc"), (b"te", b"trailers")))
    end_headers, end_stream = 4, 1
    return (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(4, 0, 0, b"") + _frame(4, 1, 0, b"")
            + _frame(1, end_headers, 1, headers) + _frame(0, end_stream, 1, b"\0\0\0\0\0"))


def open_connections(address, count):
    """Plaintext connections, each of which has been answered one call; the caller closes them."""
    host, port = address.split(":")
    connections = []
    request = health_call()
    for _ in range(count):
        connection = socket.create_connection((host, int(port)), timeout=10)
        connection.sendall(request)
        connections.append(connection)
    for connection in connections:
        _await_trailers(connection)
    return connections


def _await_trailers(connection):
    """Reads frames until the stream has ended."""
    buffered = b""
    while True:
        while len(buffered) >= 9:
            length = struct.unpack(">I", b"\0" + buffered[:3])[0]
            kind, flags, stream = buffered[3], buffered[4], struct.unpack(">I", buffered[5:9])[0]
            if len(buffered) < 9 + length:
                break
            if kind == 7:
                raise RuntimeError("the server closed the connection")
            if stream == 1 and kind == 1 and flags & 1:
                return
            buffered = buffered[9 + length:]
        received = connection.recv(65536)
        if not received:
            raise RuntimeError("the server hung up")
        buffered += received
