internal import Foundation

/// A server of HTTP/2 over TLS that answers its first request with the frames that a test gives (python3(1)).
package final class HTTP2Server: Sendable {
    /// What it sends indefinitely, behind a response head (RFC 9113).
    package struct Trick: Sendable, CustomStringConvertible {
        /// What it is called in results.
        package let description: String
        let frames: [UInt8]

        init(_ name: String, type: UInt8, flags: UInt8 = 0, stream: UInt8 = 1, payload: [UInt8] = []) {
            self.description = name
            self.frames = [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
        }
    }

    /// Every trick with frames that carry no body.
    package static let tricks = [
        Trick("empty DATA frames", type: 0),
        Trick("DATA frames of padding", type: 0, flags: 8, payload: [3, 0, 0, 0]),
        Trick("PRIORITY frames", type: 2, payload: [0, 0, 0, 0, 16]),
        Trick("frames of an unknown type", type: 0xEE),
    ]

    /// The port of 127.0.0.1 it listens on.
    package let port: Int
    private let program: Program

    /// True if python3(1) is installed.
    package static var isAvailable: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") }

    /// Starts listening.
    package convenience init(_ trick: Trick, identity: TestAuthority.Identity) async throws {
        try await self.init(trick.frames, HTTP2Server.script, identity)
    }

    /// Starts a server that answers its first request with these frames, and later ones with 200 over either protocol.
    package convenience init(firstAnswer frames: [UInt8], identity: TestAuthority.Identity) async throws {
        try await self.init(frames, HTTP2Server.choosy, identity)
    }

    /// The protocols of the requests so far, `h2` or `http/1.1`; a trick counts none.
    package var protocols: [String] { self.program.outputSoFar.split(separator: "\n").dropFirst().map(String.init) }

    /// The frame that ends the first stream with an error (RFC 9113 6.4).
    package static func reset(_ code: UInt8) -> [UInt8] { [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, code] }

    /// The frame that says which streams are the last ones to be processed (RFC 9113 6.8).
    package static func goAway(lastStream: UInt8, _ code: UInt8) -> [UInt8] {
        [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, lastStream, 0, 0, 0, code]
    }

    private init(_ frames: [UInt8], _ script: String, _ identity: TestAuthority.Identity) async throws {
        let frames = Data(frames).base64EncodedString()
        let program = try Program(["python3", "-uc", script, identity.certificate, identity.key, frames])
        guard await eventually({ program.outputSoFar.hasSuffix("\n") }),
            let port = Int(program.outputSoFar.dropLast())
        else { throw Program.NotStarted(description: "python3: \(program.errorsSoFar)") }
        self.port = port
        self.program = program
    }

    deinit { self.program.signal(SIGKILL) }

    // The listening socket, and a whole part of a connection's bytes; the protocols that it offers come after it.
    private static let prelude = """
        import base64, socket, ssl, sys, threading
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[1], sys.argv[2])
        listener = socket.create_server(("127.0.0.1", 0))
        print(listener.getsockname()[1])
        def exactly(connection, count):
            data = b""
            while len(data) < count:
                part = connection.recv(count - len(data))
                if not part: raise ConnectionError
                data += part
            return data

        """

    // Reads as little of HTTP/2 as it takes to know that a request has come: a HEADERS frame has type 1.
    private static let script =
        prelude + """
            context.set_alpn_protocols(["h2"])
            while True:
                try:
                    connection = context.wrap_socket(listener.accept()[0], server_side=True)
                    exactly(connection, 24)
                    connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
                    while True:
                        head = exactly(connection, 9)
                        exactly(connection, int.from_bytes(head[:3], "big"))
                        if head[3] == 1: break
                    connection.sendall(bytes([0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88]))
                    flood = base64.b64decode(sys.argv[3]) * 20000
                    while True: connection.sendall(flood)
                except OSError:
                    pass
            """

    // A request has ended with a HEADERS or DATA frame whose flag 1 is set; 0x88 is the field `:status: 200`. A client may
    // keep the first connection while it opens another one.
    private static let choosy =
        prelude + """
            context.set_alpn_protocols(["h2", "http/1.1"])
            answers = [base64.b64decode(sys.argv[3])]
            def serve(plain):
                try:
                    connection = context.wrap_socket(plain, server_side=True)
                    if connection.selected_alpn_protocol() == "http/1.1":
                        connection.recv(65536)
                        print("http/1.1")
                        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
                        while connection.recv(65536): pass
                    exactly(connection, 24)
                    connection.sendall(bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
                    while True:
                        head = exactly(connection, 9)
                        exactly(connection, int.from_bytes(head[:3], "big"))
                        if head[3] > 1 or not head[4] & 1: continue
                        print("h2")
                        frames = answers.pop() if answers else bytes([0, 0, 1, 1, 5]) + head[5:9] + b"\\x88"
                        connection.sendall(frames)
                        # It may have processed the request, and does not say what became of it.
                        if frames[3] == 7 and frames[12]: return connection.close()
                except OSError:
                    pass
            while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
            """
}
