internal import Foundation

/// Reads Server-Sent Events from a raw connection, chunk by chunk, as a client would that knows nothing of browsers.
final class EventReader {
    struct Frame: Sendable, Equatable {
        var id: String?
        var name: String?
        var data: String?
        var comment: String?
        var retry: String?

        /// A member of the data's object.
        func value<Value>(_ name: String, as type: Value.Type = Value.self) -> Value? {
            let object = try? JSONSerialization.jsonObject(with: Data((self.data ?? "").utf8))
            return (object as? [String: Any])?[name] as? Value
        }
    }

    struct FinishedTask: Error {}

    let connection: RawConnection
    private var raw: [UInt8] = []
    private var waiting: [Frame] = []
    private var text = ""
    private(set) var head = ""

    private init(_ connection: RawConnection) { self.connection = connection }

    /// Opens a stream and reads its head.
    static func open(port: Int, after id: String? = nil, receiveBuffer: Int32? = nil) async throws -> EventReader {
        let reader = EventReader(try await RawConnection.open(port: port, receiveBuffer: receiveBuffer))
        let field = id.map { "Last-Event-ID: \($0)\r\n" } ?? ""
        try reader.connection.send("GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\(field)\r\n")
        let end = Array("\r\n\r\n".utf8)
        while reader.raw.firstRange(of: end) == nil { try await reader.readMore() }
        if let range = reader.raw.firstRange(of: end) {
            reader.head = String(decoding: reader.raw[..<range.lowerBound], as: UTF8.self).lowercased()
            reader.raw.removeSubrange(..<range.upperBound)
        }
        return reader
    }

    var status: Int { Int(self.head.split(separator: " ").dropFirst().first ?? "") ?? 0 }

    /// The next frame of any kind.
    func nextOfAny() async throws -> Frame {
        while self.waiting.isEmpty {
            self.decode()
            if self.waiting.isEmpty { try await self.readMore() }
        }
        return self.waiting.removeFirst()
    }

    /// The next event; comments and settings are passed over.
    func next() async throws -> Frame {
        while true {
            let frame = try await self.nextOfAny()
            if frame.name != nil { return frame }
        }
    }

    func close() { self.connection.close() }

    private func readMore() async throws {
        let bytes = await self.connection.someBytes()
        guard !bytes.isEmpty else { throw FinishedTask() }
        self.raw += bytes
    }

    // RFC 9112 7.1: each chunk has its length before it.
    private func decode() {
        while let line = self.raw.firstRange(of: Array("\r\n".utf8)) {
            let digits = String(decoding: self.raw[..<line.lowerBound], as: UTF8.self)
            guard let length = Int(digits, radix: 16), self.raw.count >= line.upperBound + length + 2 else { break }
            self.text += String(decoding: self.raw[line.upperBound..<line.upperBound + length], as: UTF8.self)
            self.raw.removeSubrange(..<(line.upperBound + length + 2))
        }
        var frames = self.text.components(separatedBy: "\n\n")
        self.text = frames.removeLast()
        self.waiting += frames.map(Self.frame)
    }

    private static func frame(_ text: String) -> Frame {
        var frame = Frame()
        for line in text.split(separator: "\n") {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.dropFirst().first.map { $0.hasPrefix(" ") ? String($0.dropFirst()) : String($0) }
            switch parts.first {
            case "id": frame.id = value
            case "event": frame.name = value
            case "data": frame.data = value
            case "retry": frame.retry = value
            case "": frame.comment = value
            default: break
            }
        }
        return frame
    }
}
