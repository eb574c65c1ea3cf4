internal import Glibc

/// A system call of the server failed.
package struct LiveServerError: Error, CustomStringConvertible {
    /// The call.
    package let operation: String
    /// The error number (errno(3)).
    package let code: Int32

    /// The call and the error number.
    package var description: String { "\(self.operation): error \(self.code)" }
}

/// A connection of a ``LiveServer``: reads requests that arrive in any pieces.
struct LiveServerSocket {
    private let descriptor: Int32
    private var buffer: [UInt8] = []

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    static func listen(_ address: String, _ port: UInt16) throws -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw LiveServerError(operation: "socket", code: errno) }
        var one: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, 4)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_port = port.bigEndian
        guard inet_pton(AF_INET, address, &name.sin_addr) == 1 else {
            throw LiveServerError(operation: "inet_pton", code: EINVAL)
        }
        let result = withUnsafePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0, Glibc.listen(descriptor, 1024) == 0 else {
            let code = errno
            close(descriptor)
            throw LiveServerError(operation: "bind", code: code)
        }
        return descriptor
    }

    static func port(of descriptor: Int32) throws -> UInt16 {
        var name = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &name) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &length) }
        }
        guard result == 0 else { throw LiveServerError(operation: "getsockname", code: errno) }
        return UInt16(bigEndian: name.sin_port)
    }

    static func send(_ bytes: [UInt8], on descriptor: Int32) -> Bool {
        var done = 0
        while done < bytes.count {
            let count = bytes.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress?.advanced(by: done), bytes.count - done, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            done += count
        }
        return true
    }

    /// Makes the following close a reset (SO_LINGER with 0, socket(7)).
    static func breakOnClose(_ descriptor: Int32) {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// The next request with its body; nil if the client closed or sent a malformed one.
    mutating func readRequest(connection: Int) -> LiveServerRequest? {
        while true {
            if let end = self.endOfHead {
                let head = Array(self.buffer[..<end])
                self.buffer.removeFirst(end + 4)
                guard var request = LiveServerRequest(head: head, connection: connection) else { return nil }
                guard self.readBody(of: &request) else { return nil }
                return request
            }
            guard self.readMore() else { return nil }
        }
    }

    private mutating func readBody(of request: inout LiveServerRequest) -> Bool {
        if request.field("transfer-encoding")?.lowercased() == "chunked" { return self.readChunks(of: &request) }
        let length = request.field("content-length").flatMap { Int($0) } ?? 0
        if request.field("expect")?.lowercased() == "100-continue" {
            guard LiveServerSocket.send(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8), on: self.descriptor)
            else { return false }
        }
        while self.buffer.count < length { guard self.readMore() else { return false } }
        request.body = Array(self.buffer.prefix(length))
        self.buffer.removeFirst(length)
        return true
    }

    private mutating func readChunks(of request: inout LiveServerRequest) -> Bool {
        while let line = self.readLine() {
            guard let count = Int(line, radix: 16) else { return false }
            while self.buffer.count < count + 2 { guard self.readMore() else { return false } }
            request.body += self.buffer.prefix(count)
            self.buffer.removeFirst(count + 2)
            if count == 0 { return true }
        }
        return false
    }

    private mutating func readLine() -> String? {
        while true {
            if let end = self.buffer.firstIndex(of: 10), end > 0 {
                defer { self.buffer.removeFirst(end + 1) }
                return String(decoding: self.buffer[..<(end - 1)], as: UTF8.self)
            }
            guard self.readMore() else { return nil }
        }
    }

    private var endOfHead: Int? {
        guard self.buffer.count >= 4 else { return nil }
        return (0...self.buffer.count - 4).first { self.buffer[$0..<$0 + 4].elementsEqual([13, 10, 13, 10]) }
    }

    private mutating func readMore() -> Bool {
        let part = [UInt8](unsafeUninitializedCapacity: 65536) { buffer, count in
            count = max(0, recv(self.descriptor, buffer.baseAddress, 65536, 0))
        }
        self.buffer += part
        return !part.isEmpty
    }
}

/// Starts the threads of a ``LiveServer``.
enum LiveServerThread {
    private final class Work {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    static func start(_ body: @escaping @Sendable () -> Void) throws -> pthread_t {
        let work = Unmanaged.passRetained(Work(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { raw in
                guard let raw else { return nil }
                Unmanaged<Work>.fromOpaque(raw).takeRetainedValue().body()
                return nil
            }, work.toOpaque())
        guard code == 0 else {
            work.release()
            throw LiveServerError(operation: "pthread_create", code: code)
        }
        return thread
    }
}
