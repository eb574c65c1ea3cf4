internal import FoundationEssentials

/// The user and the password of an `Authorization` header (RFC 7617).
struct BasicCredentials: Sendable, Hashable {
    let user: String
    let password: [UInt8]
}

extension BasicCredentials {
    /// Parses the header's value; nil if it has another scheme or is malformed.
    init?(_ header: String) {
        let parts = header.split(separator: " ", maxSplits: 1)
        guard parts.count == 2, parts[0].lowercased() == "basic",
            let decoded = Data(base64Encoded: String(parts[1].drop { $0 == " " }))
        else { return nil }
        let bytes = Array(decoded)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let user = String(validating: bytes[..<colon], as: UTF8.self)
        else { return nil }
        self.init(user: user, password: Array(bytes[(colon + 1)...]))
    }
}
