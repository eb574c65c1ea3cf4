/// Markup: all text is escaped when it is added, as a literal, an interpolation or an attribute; only elements add
/// tags.
package struct HTML: ExpressibleByStringInterpolation, StringInterpolationProtocol {
    package private(set) var markup = ""

    /// An element; attributes and parts that are nil are omitted, and an empty attribute is written as its name only.
    package init(
        _ name: String, class style: String? = nil, with attributes: KeyValuePairs<String, String?> = [:],
        _ parts: HTML?...
    ) {
        self.markup = "<" + name
        self.append(attribute: "class", style)
        for (key, value) in attributes { self.append(attribute: key, value) }
        self.markup += ">"
        for part in parts { self.appendInterpolation(part) }
        self.markup += "</\(name)>"
    }

    private mutating func append(attribute name: String, _ value: String?) {
        guard let value else { return }
        self.markup += " " + name
        guard !value.isEmpty else { return }
        self.markup += "=\""
        self.append(value)
        self.markup += "\""
    }

    fileprivate init(markup: String) { self.markup = markup }

    package static let lineBreak = HTML(markup: "<br>")

    // MARK: Text

    package init(stringLiteral text: String) { self.appendLiteral(text) }
    package init(stringInterpolation: HTML) { self = stringInterpolation }
    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ text: String) { self.append(text, withQuotes: true) }
    package mutating func appendInterpolation(_ text: some CustomStringConvertible) { self.append(text.description) }
    package mutating func appendInterpolation(_ html: HTML?) { self.markup += html?.markup ?? "" }

    private mutating func append(_ text: String, withQuotes: Bool = false) {
        // Most texts contain nothing to escape.
        guard text.utf8.contains(where: { $0 < 0x3F && "&<>\"'".utf8.contains($0) }) else { return self.markup += text }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": self.markup += "&amp;"
            case "<": self.markup += "&lt;"
            case ">": self.markup += "&gt;"
            case "\"" where !withQuotes: self.markup += "&quot;"
            case "'" where !withQuotes: self.markup += "&#39;"
            default: self.markup.unicodeScalars.append(scalar)
            }
        }
    }

    /// `template` with each `{{name}}` replaced once; replacements are not expanded further.
    package static func filled(_ template: String, with values: [String: HTML?]) -> String {
        let pieces = template.split(separator: "{{", omittingEmptySubsequences: false)
        return pieces.dropFirst().reduce(into: String(pieces.first ?? "")) { html, piece in
            let halves = piece.split(separator: "}}", maxSplits: 1, omittingEmptySubsequences: false)
            html += halves.first.flatMap { values[String($0)] ?? nil }?.markup ?? ""
            html += halves.dropFirst().first ?? ""
        }
    }
}

extension [HTML] {
    package func joined(separator: HTML = "") -> HTML {
        HTML(markup: self.map(\.markup).joined(separator: separator.markup))
    }

    /// All parts in one element; nil if there are none.
    package func joined(separator: HTML = "", in name: String, class style: String? = nil) -> HTML? {
        self.isEmpty ? nil : HTML(name, class: style, self.joined(separator: separator))
    }
}

// MARK: Building blocks

extension HTML {
    package static func party(_ party: FaultParty) -> HTML {
        HTML("span", class: "party", HTML("i", class: "party-\(party.rawValue)"), "\(party)")
    }

    /// An image of shapes, with a label for screen readers; `fit` says how it fills its box.
    package static func picture(
        class style: String? = nil, _ viewBox: String, fit: String? = nil, label: String, _ shapes: HTML
    ) -> HTML {
        HTML(
            "svg", class: style,
            with: ["viewBox": viewBox, "preserveAspectRatio": fit, "role": "img", "aria-label": label], shapes)
    }

    /// A rectangle by its position and size; its title is shown on hover.
    package static func rect(_ style: String, _ box: [some CustomStringConvertible], title: String? = nil) -> HTML {
        var rect = HTML(markup: "<rect")
        rect.append(attribute: "class", style)
        for (name, number) in zip(["x", "y", "width", "height"], box) {
            rect.append(attribute: name, number.description)
        }
        rect.markup += title.map { ">\(HTML("title", "\($0)").markup)</rect>" } ?? "/>"
        return rect
    }

    /// The position and size of a rectangle, to a tenth.
    package static func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> [Double] {
        [x, y, width, height].map { (max(0, $0) * 10).rounded() / 10 }
    }

    /// A table in a box of its own, which scrolls if the table is wider than the page.
    package static func table(class style: String?, _ heads: [String], rows: [HTML]) -> HTML {
        let heads = heads.map { HTML("th", with: ["scope": "col"], "\($0)") }
        let parts: HTML = "\(HTML("thead", HTML("tr", heads.joined())))\(HTML("tbody", rows.joined()))"
        return HTML("div", class: "scroll", HTML("table", class: style, parts))
    }
}
