/// Whom a session trusts.
public struct TLSPolicy: Sendable, Hashable, Codable {
    /// A file of certificate authorities in PEM form; nil trusts the system's.
    public let caFile: String?
    /// The public keys accepted by host, each `sha256//BASE64` (RFC 7469); hosts without an entry accept any.
    public let pins: [String: [String]]
    /// True if certificates are not verified at all; must be spelled out.
    public let isInsecure: Bool

    /// The system's authorities, no pins.
    public static let system = TLSPolicy(unchecked: nil, pins: [:], isInsecure: false)

    /// A policy from its parts.
    ///
    /// - Throws: ``PolicyError`` if a pin is not `sha256//` and 44 characters of base64, or the file has no name.
    public init(
        caFile: String? = nil, pins: [String: [String]] = [:], isInsecure: Bool = false
    ) throws(PolicyError) {
        try PolicyError.check(caFile.map { !$0.isEmpty } ?? true, "tls.ca_file", "the file has no name")
        for (host, keys) in pins.sorted(by: { $0.key < $1.key }) {
            try PolicyError.check(!keys.isEmpty, "tls.pins", "\(host) has no pin")
            for key in keys {
                try PolicyError.check(
                    TLSPolicy.isPin(key), "tls.pins", "\"\(key)\" of \(host) is not sha256// and a hash in base64")
            }
        }
        self.init(
            unchecked: caFile, pins: Dictionary(uniqueKeysWithValues: pins.map { ($0.key.lowercased(), $0.value) }),
            isInsecure: isInsecure)
    }

    /// Reads a policy as it was encoded; throws if this version would not accept it.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        try self.init(
            caFile: members.decodeIfPresent(String.self, forKey: .caFile),
            pins: members.decode([String: [String]].self, forKey: .pins),
            isInsecure: members.decode(Bool.self, forKey: .isInsecure))
    }

    private init(unchecked caFile: String?, pins: [String: [String]], isInsecure: Bool) {
        self.caFile = caFile
        self.pins = pins
        self.isInsecure = isInsecure
    }

    private static func isPin(_ text: String) -> Bool {
        guard text.hasPrefix("sha256//") else { return false }
        let hash = text.dropFirst(8).utf8
        return hash.count == 44 && hash.last == UInt8(ascii: "=") && hash.dropLast().allSatisfy(TLSPolicy.isBase64)
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
            true
        default: false
        }
    }
}
