/// A duration in text: `500ms`, `10s`, `1m30s`, `2h`, `7d`, `inf`, or a bare `0`.
package struct DurationText: Sendable, Hashable, CustomStringConvertible {
    /// The duration; nil for `inf`.
    package let duration: Duration?

    /// A duration; nil is `inf`.
    package init(_ duration: Duration?) { self.duration = duration }

    /// Parses a duration; the error quotes the text.
    package init(parsing text: String) throws(TextError) { self.init(try DurationText.parse(text)) }

    private static func parse(_ text: String) throws(TextError) -> Duration? {
        if text == "inf" { return nil }
        if text == "0" { return .zero }
        guard let parts = DurationText.parts(of: text), !parts.isEmpty else {
            throw TextError("\"\(text)\" is not a duration (such as 500ms, 10s, 2m, 1h or inf)")
        }
        let seconds = parts.reduce(0.0) { $0 + $1 }
        guard seconds <= DurationText.longest else {
            throw TextError("\"\(text)\" is longer than 100 years; use inf for no limit")
        }
        return .nanoseconds(Int64((seconds * 1e9).rounded()))
    }

    private static let longest: Double = 100 * 365.25 * 86_400

    // Each part in seconds; nil if a number has no unit, a unit is unknown, or units do not fall.
    private static func parts(of text: String) -> [Double]? {
        var parts: [Double] = []
        var rest = Substring(text)
        var last = Double.infinity
        while !rest.isEmpty {
            let digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest = rest.dropFirst(digits.count)
            let unit = rest.prefix { $0.isASCII && $0.isLetter }
            rest = rest.dropFirst(unit.count)
            guard digits.first != ".", digits.last != ".", let count = Double(digits), let scale = self.scale(of: unit),
                scale < last
            else { return nil }
            parts.append(count * scale)
            last = scale
        }
        return parts
    }

    private static func scale(of unit: Substring) -> Double? {
        switch unit {
        case "us": 1e-6
        case "ms": 1e-3
        case "s": 1
        case "m": 60
        case "h": 3600
        case "d": 86_400
        default: nil
        }
    }

    /// The duration in the largest units: `90s` is `1m30s`, `1500ms` is `1.5s`, nil is `inf`.
    package var description: String {
        guard let duration = self.duration else { return "inf" }
        // Division first, so that the longest duration does not overflow.
        let (whole, rest) = duration.wholeNanoseconds.quotientAndRemainder(dividingBy: 1_000_000)
        let milliseconds = whole + (rest + 500_000) / 1_000_000
        guard milliseconds >= 1000 else {
            return duration == .zero
                ? "0s" : duration < .milliseconds(1) ? duration.digits(of: 1_000_000) + "ms" : "\(milliseconds)ms"
        }
        guard milliseconds >= 60_000 else {
            let tenths = (milliseconds + 50) / 100
            return tenths % 10 == 0 ? "\(tenths / 10)s" : "\(tenths / 10).\(tenths % 10)s"
        }
        let seconds = (milliseconds + 500) / 1000
        let (minutes, hours) = (seconds / 60, seconds / 3600)
        let parts = [(hours / 24, "d"), (hours % 24, "h"), (minutes % 60, "m"), (seconds % 60, "s")]
        return parts.filter { $0.0 > 0 }.map { "\($0.0)\($0.1)" }.joined()
    }
}

extension Duration {
    /// The duration for display: `0.42 ms`, `24 ms`, `1.5 s`, and from a minute on in two units: `2 min 10 s`.
    package var shortText: String {
        if self <= .zero { return "0 s" }
        let seconds = self.components.seconds
        guard seconds >= 60 else {
            return self.wholeNanoseconds < 999_500_000
                ? self.digits(of: 1_000_000) + " ms" : self.digits(of: 1_000_000_000) + " s"
        }
        let parts = [
            (seconds / 86400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s"),
        ]
        return parts.drop { $0.0 == 0 }.prefix(2).filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }

    // In a unit of so many nanoseconds, a power of ten: two significant digits below ten of them, whole ones above.
    fileprivate func digits(of unit: Int64) -> String {
        let nanoseconds = self.wholeNanoseconds
        var step: Int64 = 1
        while step < unit, nanoseconds / step >= 100 { step *= 10 }
        let rounded = (nanoseconds + step / 2) / step * step
        var fraction = String(String(unit + rounded % unit).dropFirst())
        while fraction.last == "0" { fraction.removeLast() }
        return "\(rounded / unit)" + (fraction.isEmpty ? "" : ".\(fraction)")
    }
}
