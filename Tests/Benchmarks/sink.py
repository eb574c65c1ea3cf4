#!/usr/bin/env python3
"""An HTTP server that takes a request's whole body and answers 200. Usage: sink.py PORT"""

import re
import socket
import sys
import threading

BUFFER = 1 << 20


def serve(connection):
    kept = bytearray()
    buffer = bytearray(BUFFER)
    with connection:
        while True:
            while b"\r\n\r\n" not in kept:
                count = connection.recv_into(buffer)
                if count == 0:
                    return
                kept += buffer[:count]
            head, _, body = bytes(kept).partition(b"\r\n\r\n")
            kept.clear()
            left = int(re.search(rb"(?i)\r\ncontent-length: *(\d+)", head).group(1)) - len(body)
            if re.search(rb"(?i)\r\nexpect: *100-continue", head):
                connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
            while left > 0:
                count = connection.recv_into(buffer, min(BUFFER, left))
                if count == 0:
                    return
                left -= count
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def main():
    with socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=64) as server:
        while True:
            threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()


if __name__ == "__main__":
    main()
