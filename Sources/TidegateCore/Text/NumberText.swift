/// Numbers as Go writes them, so that `le` values mean the same to every version of Prometheus.
package enum NumberText {
    /// Go's `strconv.FormatFloat(value, 'g', -1, 64)`, with `.0` if neither a point nor an exponent shows a float.
    package static func float(_ value: Double) -> String {
        guard value.isFinite else { return value.isNaN ? "NaN" : value < 0 ? "-Inf" : "+Inf" }
        // Both write these alike.
        if value == 0 || (1e-4..<1e6).contains(value.magnitude) { return value.description }
        let sign = value.sign == .minus ? "-" : ""
        let (digits, point) = NumberText.decimal(value.magnitude)
        let exponent = point - 1
        guard exponent >= -4, exponent < 6 || digits.isEmpty else {
            return sign + NumberText.scientific(digits, exponent: exponent)
        }
        return sign + NumberText.plain(digits, point: point)
    }

    // The shortest digits that give the value back, without zeros at either end, and where the point stands.
    private static func decimal(_ value: Double) -> (digits: [UInt8], point: Int) {
        let text = value.description.utf8
        let mantissa = text.prefix { $0 != UInt8(ascii: "e") }
        var digits: [UInt8] = []
        var point: Int?
        for byte in mantissa {
            if byte == UInt8(ascii: ".") { point = digits.count } else { digits.append(byte) }
        }
        let exponent = Int(Substring(text[mantissa.endIndex...].dropFirst())) ?? 0
        let leading = digits.prefix { $0 == UInt8(ascii: "0") }.count
        let position = (point ?? digits.count) + exponent - leading
        digits.removeFirst(leading)
        while digits.last == UInt8(ascii: "0") { digits.removeLast() }
        return (digits, digits.isEmpty ? 1 : position)
    }

    private static func plain(_ digits: [UInt8], point: Int) -> String {
        let whole = self.text(digits.prefix(max(0, point))) + self.zeros(point - digits.count)
        let fraction = self.zeros(digits.isEmpty ? 0 : -point) + self.text(digits.dropFirst(max(0, point)))
        return (whole.isEmpty ? "0" : whole) + "." + (fraction.isEmpty ? "0" : fraction)
    }

    private static func scientific(_ digits: [UInt8], exponent: Int) -> String {
        let (first, rest) = (self.text(digits.prefix(1)), self.text(digits.dropFirst()))
        let power = String(exponent.magnitude)
        return first + (rest.isEmpty ? "" : ".") + rest + (exponent < 0 ? "e-" : "e+") + self.zeros(2 - power.count)
            + power
    }

    private static func zeros(_ count: Int) -> String { "".padded(to: count) }

    private static func text(_ digits: some Collection<UInt8>) -> String { String(decoding: digits, as: UTF8.self) }
}

extension String {
    /// The digits with zeros before them, up to so many in all.
    package func padded(to count: Int) -> String {
        String(repeating: "0", count: max(0, count - self.utf8.count)) + self
    }
}
