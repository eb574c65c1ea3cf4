/// A byte count in text: `500`, `64k`, `2M`, `1G`, `64MiB`; units are powers of 1024.
package struct ByteText: Sendable, Hashable, CustomStringConvertible {
    /// The count; not negative.
    package let bytes: Int64

    /// A count of bytes.
    package init(_ bytes: Int64) { self.bytes = bytes }

    /// Parses a count; the error quotes the text.
    package init(parsing text: String) throws(TextError) {
        let digits = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
        let unit = text.dropFirst(digits.count)
        guard digits.first != ".", digits.last != ".", let count = Double(digits), let shift = ByteText.shift(of: unit)
        else { throw TextError("\"\(text)\" is not a size (such as 500, 64k, 2M or 1G)") }
        let bytes = count * Double(Int64(1) << shift)
        guard bytes < 0x1p62 else { throw TextError("\"\(text)\" is too large") }
        self.init(Int64(bytes))
    }

    private static func shift(of unit: Substring) -> Int64? {
        switch unit {
        case "", "B": 0
        case "k", "K", "kB", "KiB": 10
        case "M", "MB", "MiB": 20
        case "G", "GB", "GiB": 30
        default: nil
        }
    }

    /// The count with the unit that leaves at most four digits: `312 B`, `1.5 KiB`, `64.0 MiB`.
    package var description: String {
        guard self.bytes >= 1024 else { return "\(self.bytes) B" }
        // Division first, so that the largest count does not overflow.
        var tenths = self.bytes / 1024 * 10 + self.bytes % 1024 * 10 / 1024
        for unit in ["KiB", "MiB", "GiB"] {
            if tenths < 10_240 { return "\(tenths / 10).\(tenths % 10) \(unit)" }
            tenths /= 1024
        }
        return "\(tenths / 10).\(tenths % 10) TiB"
    }
}
