package import TidegateCore

/// Whom a session trusts.
public struct TLSPolicy: Sendable, Hashable, Codable {
    /// A file of certificate authorities in PEM form; nil trusts the system's.
    public var caFile: String?
    /// The public keys accepted by host, each `sha256//BASE64` (RFC 7469); hosts without an entry accept any.
    public var pins: [String: [String]]
    /// True if certificates are not verified at all; must be spelled out.
    public var isInsecure: Bool

    /// A policy; by default the system's authorities and no pins.
    public init(caFile: String? = nil, pins: [String: [String]] = [:], isInsecure: Bool = false) {
        self.caFile = caFile
        self.pins = pins
        self.isInsecure = isInsecure
    }

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            self.caFile.map { !$0.isEmpty } ?? true, "tls.caFile", "the file has no name")
        for (host, keys) in self.pins.sorted(by: { $0.key < $1.key }) {
            try ConfigurationValueError.check(!keys.isEmpty, "tls.pins", "\(host) has no pin")
            for key in keys {
                try ConfigurationValueError.check(
                    TLSPolicy.isPin(key), "tls.pins", "\"\(key)\" of \(host) is not sha256// and a hash in base64")
            }
        }
    }

    /// The keys accepted of a host, whose name is in lower case and encoded.
    func pins(of host: String) -> [String] {
        self.pins[host] ?? self.pins.first { (try? Target($0.key).host) == host }?.value ?? []
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
