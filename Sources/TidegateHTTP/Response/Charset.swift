/// The supported character sets of bodies, with their IANA names.
public enum Charset: String, Sendable, CaseIterable {
    /// Every character.
    case utf8 = "UTF-8"
    /// Every character; written with a byte order mark, big-endian.
    case utf16 = "UTF-16"
    /// Every character, without a byte order mark.
    case utf16BigEndian = "UTF-16BE"
    /// Every character, without a byte order mark.
    case utf16LittleEndian = "UTF-16LE"
    /// The first 128 characters of Unicode.
    case ascii = "US-ASCII"
    /// The first 256 characters of Unicode.
    case latin1 = "ISO-8859-1"
    /// Like ISO-8859-1, with letters, quotation marks and the euro sign in place of control characters.
    case windows1252 = "Windows-1252"

    /// The charset with this IANA name, ignoring case; nil if it is not supported.
    init?(_ name: String) {
        let name = name.lowercased()
        let aliases: [String: Charset] = [
            "utf8": .utf8, "utf16": .utf16, "ascii": .ascii, "iso8859-1": .latin1, "latin1": .latin1,
            "cp1252": .windows1252,
        ]
        let known = aliases[name] ?? Charset.allCases.first { $0.rawValue.lowercased() == name }
        guard let known else { return nil }
        self = known
    }

    /// The text without a byte order mark; nil if a byte is invalid in the charset.
    func text(of bytes: [UInt8]) -> String? {
        switch self {
        case .utf8:
            return String(validating: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? bytes[3...] : bytes[...], as: UTF8.self)
        case .utf16:
            // RFC 2781 4.3: without a byte order mark the text is big-endian.
            if bytes.starts(with: [0xFF, 0xFE]) { return Charset.utf16(bytes[2...], isBigEndian: false) }
            return Charset.utf16(bytes.starts(with: [0xFE, 0xFF]) ? bytes[2...] : bytes[...], isBigEndian: true)
        case .utf16BigEndian: return Charset.utf16(bytes[...], isBigEndian: true)
        case .utf16LittleEndian: return Charset.utf16(bytes[...], isBigEndian: false)
        case .ascii: return bytes.allSatisfy { $0 < 0x80 } ? String(decoding: bytes, as: UTF8.self) : nil
        // Its characters are the first 256 of Unicode.
        case .latin1: return String(decoding: bytes.map { UInt16($0) }, as: UTF16.self)
        case .windows1252:
            let scalars = bytes.compactMap { byte in
                (0x80...0x9F).contains(byte) ? Charset.upper[Int(byte) - 0x80] : Unicode.Scalar(byte)
            }
            return scalars.count == bytes.count ? String(String.UnicodeScalarView(scalars)) : nil
        }
    }

    /// The text in the charset; nil if that lacks one of its characters.
    func bytes(of text: String) -> [UInt8]? {
        switch self {
        case .utf8: return Array(text.utf8)
        case .utf16: return [0xFE, 0xFF] + text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        case .utf16BigEndian: return text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        case .utf16LittleEndian: return text.utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        case .ascii, .latin1, .windows1252:
            let bytes = text.unicodeScalars.compactMap { scalar -> UInt8? in
                if scalar.isASCII { return UInt8(scalar.value) }
                let upper = self == .windows1252 ? Charset.upper.firstIndex(of: scalar) : nil
                guard let byte = UInt8(exactly: upper.map { UInt32($0 + 0x80) } ?? scalar.value) else { return nil }
                return self.text(of: [byte])?.unicodeScalars.first == scalar ? byte : nil
            }
            return bytes.count == text.unicodeScalars.count ? bytes : nil
        }
    }

    private static func utf16(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> String? {
        guard bytes.count.isMultiple(of: 2) else { return nil }
        let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
        return String(validating: units, as: UTF16.self)
    }

    // Windows-1252's characters in place of ISO-8859-1's control characters; five bytes are unassigned.
    private static let upper: [Unicode.Scalar?] = [
        "€", nil, "‚", "ƒ", "„", "…", "†", "‡", "ˆ", "‰", "Š", "‹", "Œ", nil, "Ž", nil, nil, "‘", "’", "“", "”", "•",
        "–", "—", "˜", "™", "š", "›", "œ", nil, "ž", "Ÿ",
    ]
}
