import Foundation
import TidegateCore

@testable import TidegateNetwork

/// Messages about sockets that ended, as Linux 6.18 sent them, by how each socket was brought to its end.
///
/// Three hosts in a row: 10.0.0.2, its gateway, and 198.51.100.2 behind it. "(peer)" is what the far host's kernel said
/// of the other end of the same connection; all others are of 10.0.0.2. `endings.txt` has a line for each: the name, and
/// the bytes in hexadecimal.
enum RecordedEndings {
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("endings.txt")

    /// The messages by their names.
    static func read() throws -> [String: [UInt8]] {
        var messages: [String: [UInt8]] = [:]
        for line in try String(contentsOf: self.file, encoding: .utf8).split(separator: "\n") {
            guard let colon = line.lastIndex(of: ":") else { throw TextError("no name: \(line.prefix(40))") }
            let digits = line[colon...].dropFirst(2).compactMap(\.hexDigitValue).map(UInt8.init)
            messages[String(line[..<colon])] = stride(from: 0, to: digits.count, by: 2).map {
                digits[$0] << 4 | digits[$0 + 1]
            }
        }
        return messages
    }

    /// What a message says.
    static func report(_ name: String) throws -> SocketReport {
        guard let message = try self.read()[name] else { throw TextError("\(name) was not recorded") }
        return try self.report(message)
    }

    /// What some bytes say.
    static func report(_ message: [UInt8]) throws -> SocketReport {
        let decoded = SocketMessageDecoder.decode(message)
        guard decoded.count == 1, case .socket(let report) = decoded[0] else { throw TextError("\(decoded)") }
        return report
    }

    // The header, and `struct inet_diag_msg`.
    private static let attributesOffset = 88

    /// The same message of a kernel whose `struct tcp_info` is so short, or nil if it has none.
    static func shortened(_ message: [UInt8], to length: Int) -> [UInt8]? {
        var offset = self.attributesOffset
        while offset + 4 <= message.count {
            let size = Int(message[offset]) | Int(message[offset + 1]) << 8
            guard message[offset + 2] == 2 else {
                offset += (size + 3) & ~3
                continue
            }
            var shorter = message
            shorter.removeSubrange(offset + 4 + length..<offset + size)
            (shorter[offset], shorter[offset + 1]) = (UInt8((length + 4) & 0xFF), UInt8((length + 4) >> 8))
            (shorter[0], shorter[1]) = (UInt8(shorter.count & 0xFF), UInt8(shorter.count >> 8))
            return shorter
        }
        return nil
    }
}

extension SocketMessageDecoder {
    /// Every message of a datagram.
    static func decode(_ datagram: [UInt8]) -> [SocketMessage] {
        var messages: [SocketMessage] = []
        datagram.withUnsafeBytes { bytes in self.decode(bytes) { messages.append($1) } }
        return messages
    }
}
