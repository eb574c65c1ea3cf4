internal import Foundation

/// A plain TCP client on a thread of its own, so that waiting never holds up the server under test.
struct RawConnection: Sendable {
    struct Response: Sendable {
        let status: Int
        /// Names in lower case.
        let fields: [String: String]
        let body: String
        /// True when the server closed the connection.
        let isAtEnd: Bool
    }

    enum Failure: Error { case connect, send }

    private let descriptor: Int32

    /// Connects to a port of the loopback address.
    static func open(port: Int, receiveBuffer: Int32? = nil) async throws -> RawConnection {
        try await self.onThread {
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var size = receiveBuffer ?? 0
            if size > 0 { setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size)) }
            var limit = timeval(tv_sec: 20, tv_usec: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let status = withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard status == 0 else { throw Failure.connect }
            return RawConnection(descriptor: descriptor)
        }
    }

    /// One request on a connection of its own.
    static func exchange(port: Int, _ request: String) async throws -> Response {
        let connection = try await self.open(port: port)
        defer { connection.close() }
        try connection.send(request)
        return await connection.response(toHead: request.hasPrefix("HEAD"))
    }

    /// A GET, or what `method` says, that ends the connection.
    static func ask(port: Int, _ path: String, method: String = "GET", fields: String = "") async throws -> Response {
        try await self.exchange(
            port: port, "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(fields)\r\n")
    }

    func send(_ text: String) throws {
        let bytes = Array(text.utf8)
        guard Foundation.send(self.descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        else { throw Failure.send }
    }

    func close() { Foundation.close(self.descriptor) }

    /// Reads one response, as long as its head says.
    func response(toHead: Bool = false) async -> Response {
        await Self.onThread {
            var (bytes, isAtEnd): ([UInt8], Bool) = ([], false)
            while !isAtEnd, !Self.isComplete(bytes, toHead: toHead) { isAtEnd = !self.receive(into: &bytes) }
            return Self.parse(bytes, isAtEnd: isAtEnd)
        }
    }

    /// What comes next; nothing at the end of the connection or of the time.
    func someBytes() async -> [UInt8] {
        await Self.onThread {
            var bytes: [UInt8] = []
            _ = self.receive(into: &bytes)
            return bytes
        }
    }

    /// True once the server has closed the connection; false after the time limit.
    func isClosedByServer() async -> Bool {
        await Self.onThread {
            var byte: UInt8 = 0
            while true {
                let count = recv(self.descriptor, &byte, 1, 0)
                if count == 0 { return true }
                if count < 0 { return errno != EAGAIN }
            }
        }
    }

    private func receive(into bytes: inout [UInt8]) -> Bool {
        var chunk = [UInt8](repeating: 0, count: 65536)
        let count = recv(self.descriptor, &chunk, chunk.count, 0)
        guard count > 0 else { return false }
        bytes += chunk.prefix(count)
        return true
    }

    private static func isComplete(_ bytes: [UInt8], toHead: Bool) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return false }
        let response = self.parse(bytes, isAtEnd: false)
        let length = Int(response.fields["content-length"] ?? "") ?? 0
        return toHead || text[end.upperBound...].utf8.count >= length
    }

    private static func parse(_ bytes: [UInt8], isAtEnd: Bool) -> Response {
        let text = String(decoding: bytes, as: UTF8.self)
        let parts = text.components(separatedBy: "\r\n\r\n")
        let lines = parts[0].components(separatedBy: "\r\n")
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let pair = line.split(separator: ":", maxSplits: 1)
            if pair.count == 2 { fields[pair[0].lowercased()] = pair[1].trimmingCharacters(in: .whitespaces) }
        }
        let status = lines[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Response(
            status: status, fields: fields, body: parts.dropFirst().joined(separator: "\r\n\r\n"), isAtEnd: isAtEnd)
    }

    private static func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: work)) }
        }
    }

    private static func onThread<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: work()) }
        }
    }
}
