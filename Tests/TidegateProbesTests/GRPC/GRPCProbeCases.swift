import TidegateTestKit

/// What servers answer that is no health, and what comes of it.
enum GRPCProbeCases {
    /// The probe's reason, the call's status and the sentence.
    typealias Expected = (reason: String, status: Double, text: String)

    private static func body(_ body: [UInt8] = [], trailers: [GRPCServer.Field]? = nil) -> GRPCServer.Action {
        .answer(GRPCServer.head, body: [body], trailers: trailers ?? [("grpc-status", "0")])
    }

    /// Answers that end.
    static let answers: [(action: GRPCServer.Action, expected: Expected)] = [
        (.answer([(":status", "404")]), ("status", 12, "the server answered HTTP 404 without a gRPC status")),
        (.answer([(":status", "401")]), ("status", 16, "the server answered HTTP 401 without a gRPC status")),
        (.answer([(":status", "403")]), ("status", 7, "the server answered HTTP 403 without a gRPC status")),
        (.answer([(":status", "400")]), ("status", 13, "the server answered HTTP 400 without a gRPC status")),
        (.answer([(":status", "503")]), ("status", 14, "the server answered HTTP 503 without a gRPC status")),
        (.answer([(":status", "500")]), ("status", 2, "the server answered HTTP 500 without a gRPC status")),
        (
            .answer([(":status", "200"), ("content-type", "text/html")], body: [Array("<p>".utf8)]),
            ("protocol_error", 2, "the server answered HTTP 200 without a gRPC status")
        ),
        (
            .answer([(":status", "200"), ("content-type", "application/grpcx"), ("grpc-status", "0")]),
            ("protocol_error", 2, "the server answered HTTP 200 without a gRPC status")
        ),
        // A status of gRPC counts whatever that of HTTP is.
        (
            .answer([(":status", "503"), ("content-type", "application/grpc+proto"), ("grpc-status", "5")]),
            ("status", 5, "the server answered NOT_FOUND")
        ),
        (.status("OK"), ("status", 2, "the server answered UNKNOWN")),
        (
            .answer(GRPCServer.head),
            ("protocol_error", 2, "the server answered HTTP 200 without a gRPC status")
        ),
        (
            .answer(GRPCServer.head, body: [[0, 0, 0, 0, 0]]),
            ("protocol_error", 13, "the server's answer ended without a status")
        ),
        (.status("0"), ("protocol_error", 13, "the server's answer has no message")),
        (Self.body([0, 0, 0]), ("protocol_error", 13, "the server's answer ended in the middle of its message")),
        (
            Self.body([0, 0, 0, 0, 2, 8]),
            ("protocol_error", 13, "the server's answer ended in the middle of its message")
        ),
        (
            Self.body([0, 0, 0, 0, 2, 8, 1, 0]),
            ("protocol_error", 13, "the server's answer has more than one message")
        ),
        (
            .message([0x08, 1], flag: 1),
            ("protocol_error", 13, "the server's answer is compressed, which was not asked for")
        ),
        (.message([0x0A, 9, 1]), ("protocol_error", 13, "the server's answer is no HealthCheckResponse")),
        (.message([0x08, 0xFF]), ("protocol_error", 13, "the server's answer is no HealthCheckResponse")),
        (.message([0x0B]), ("protocol_error", 13, "the server's answer is no HealthCheckResponse")),
        (
            .answer(GRPCServer.head, body: [[0, 0x7F, 0xFF, 0xFF, 0xFF]]),
            ("too_large", 8, "the server's answer has more than 64 KiB")
        ),
        (.close, ("reset", 14, "the server closed the connection before its answer")),
    ]

    /// What goes on, or is not enough.
    static let floods: [(name: String, action: GRPCServer.Action, reason: String)] = [
        ("nothing", .ignore, "timed_out"),
        ("half an answer", .answer(GRPCServer.head, body: [[0, 0, 0, 0, 2]], trailers: nil), "protocol_error"),
        ("a head without an end", .raw(GRPCServer.frame(type: 1, flags: 4, [0x88])), "protocol_error"),
        (
            "informational answers",
            .raw(GRPCServer.frame(type: 1, flags: 4, [0x08, 3] + Array("103".utf8)), isEndless: true),
            "timed_out"
        ),
        (
            "a head that goes on",
            .raw(
                GRPCServer.frame(type: 1, [0x88])
                    + Array(
                        (0..<64).map { _ in GRPCServer.frame(type: 9, [UInt8](repeating: 0x88, count: 1024)) }.joined()),
                isEndless: true), "protocol_error"
        ),
        ("empty data", .raw(GRPCServer.frame(type: 0), isEndless: true), "protocol_error"),
        (
            "pings", .raw(GRPCServer.frame(type: 6, stream: 0, [UInt8](repeating: 0, count: 8)), isEndless: true),
            "protocol_error"
        ),
        ("settings", .raw(GRPCServer.frame(type: 4, stream: 0), isEndless: true), "protocol_error"),
        ("frames of an unknown type", .raw(GRPCServer.frame(type: 0xEE), isEndless: true), "timed_out"),
    ]

}
