/// What an expression matched, group by group.
package struct RegularExpressionMatch: Sendable, Hashable {
    /// The whole match, then what each group in parentheses matched; nil for one that took no part.
    package let groups: [[UInt8]?]
    let names: [String: Int]

    /// A template with `$1`, `${1}` and `${name}` replaced by what the groups matched, as Go's `Regexp.Expand` does it.
    ///
    /// A group that does not exist or took no part is empty; `$$` is a dollar sign; the longest possible name counts,
    /// so that `$1x` is the group `1x`.
    package func expanding(_ template: String) -> [UInt8] {
        var result: [UInt8] = []
        var rest = template.utf8[...]
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            result += rest[..<dollar]
            rest = rest[rest.index(after: dollar)...]
            if rest.first == UInt8(ascii: "$") {
                result.append(UInt8(ascii: "$"))
                rest = rest.dropFirst()
            } else if let (name, after) = Self.reference(at: rest) {
                result += self.group(name) ?? []
                rest = after
            } else {
                // Malformed: the dollar sign is taken as it stands.
                result.append(UInt8(ascii: "$"))
            }
        }
        return result + rest
    }

    private func group(_ name: String) -> [UInt8]? {
        let number = Int(name) ?? self.names[name]
        return number.flatMap { self.groups.indices.contains($0) ? self.groups[$0] : nil }
    }

    // `1`, `name`, `{1}` or `{name}`, and what follows.
    private static func reference(at text: Substring.UTF8View) -> (name: String, after: Substring.UTF8View)? {
        let isBraced = text.first == UInt8(ascii: "{")
        let inner = isBraced ? text.dropFirst() : text
        let name = inner.prefix {
            switch $0 {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        var after = inner[name.endIndex...]
        guard !name.isEmpty, !isBraced || after.first == UInt8(ascii: "}") else { return nil }
        if isBraced { after = after.dropFirst() }
        return (String(decoding: name, as: UTF8.self), after)
    }
}
