/// Percent-encoding (RFC 3986 2.1).
package enum PercentEncoding {
    /// The bytes that a text stands for; a percent sign without two hexadecimal digits behind it stands for itself.
    package static func decode(_ text: some StringProtocol) -> [UInt8] { self.decode(Array(text.utf8)) }

    /// The same of a text's bytes.
    package static func decode(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "%"), let value = self.value(rest.prefix(2)) {
                bytes.append(value)
                rest = rest.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        return bytes
    }

    /// A URL as a URI: what RFC 3986 excludes is encoded, with every percent sign that encodes nothing.
    package static func uri(_ url: String) -> String {
        let bytes = Array(url.utf8)
        return bytes.indices.reduce(into: "") { uri, index in
            let scalar = Unicode.Scalar(bytes[index])
            let isEscape = scalar == "%" && self.value(bytes[(index + 1)...].prefix(2)) != nil
            // No URL contains a byte of fewer than two digits.
            uri +=
                isEscape || self.allowed.contains(scalar)
                ? "\(scalar)" : "%\(String(bytes[index], radix: 16, uppercase: true))"
        }
    }

    private static let allowed = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=".unicodeScalars)

    private static func value(_ digits: ArraySlice<UInt8>) -> UInt8? {
        guard digits.count == 2 else { return nil }
        return digits.reduce(0 as UInt8?) { value, digit in
            guard let value, let digit = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
            return value << 4 | UInt8(digit)
        }
    }
}
