/// One line of a request's head (RFC 9110 5).
public struct HeaderField: Sendable, Hashable {
    /// The field's name.
    public let name: String
    /// The field's value.
    public let value: String

    /// A field; what a head cannot carry is refused by ``TaskRequest``.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }

    /// True where the field has this name; names do not mind case.
    func isNamed(_ name: String) -> Bool { self.name.lowercased() == name.lowercased() }

    /// True where the field says how the body ends (RFC 9112 6).
    var framesBody: Bool {
        // By the length first: every header of every request is looked at.
        switch self.name.utf8.count {
        case 14: self.isNamed("Content-Length")
        case 17: self.isNamed("Transfer-Encoding")
        default: false
        }
    }

    /// True where `text` is a token (RFC 9110 5.6.2).
    static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(self.isTokenByte)
    }

    /// True where `text` has no control character but the tab (RFC 9110 5.5).
    static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }
}

extension [HeaderField] {
    /// The value of the first field with this name; nil where there is none.
    func first(named name: String) -> String? { self.first { $0.isNamed(name) }?.value }
}
