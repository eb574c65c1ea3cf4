internal import TidegateCore

/// Markup: all text is escaped when it is added, as a literal, an interpolation or an attribute; only elements add
/// tags.
struct HTML: ExpressibleByStringInterpolation, StringInterpolationProtocol {
    private(set) var markup = ""

    /// An element; attributes and parts that are nil are omitted, and an empty attribute is written as its name only.
    init(
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

    static let lineBreak = HTML(markup: "<br>")

    // MARK: Text

    init(stringLiteral text: String) { self.appendLiteral(text) }
    init(stringInterpolation: HTML) { self = stringInterpolation }
    init(literalCapacity: Int, interpolationCount: Int) {}

    mutating func appendLiteral(_ text: String) { self.append(text, withQuotes: true) }
    mutating func appendInterpolation(_ text: some CustomStringConvertible) { self.append(text.description) }
    mutating func appendInterpolation(_ html: HTML?) { self.markup += html?.markup ?? "" }

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
    static func filled(_ template: String, with values: [String: HTML?]) -> String {
        let pieces = template.split(separator: "{{", omittingEmptySubsequences: false)
        return pieces.dropFirst().reduce(into: String(pieces.first ?? "")) { html, piece in
            let halves = piece.split(separator: "}}", maxSplits: 1, omittingEmptySubsequences: false)
            html += halves.first.flatMap { values[String($0)] ?? nil }?.markup ?? ""
            html += halves.dropFirst().first ?? ""
        }
    }
}

extension [HTML] {
    func joined(separator: HTML = "") -> HTML {
        HTML(markup: self.map(\.markup).joined(separator: separator.markup))
    }

    /// All parts in one element; nil if there are none.
    func joined(separator: HTML = "", in name: String, class style: String? = nil) -> HTML? {
        self.isEmpty ? nil : HTML(name, class: style, self.joined(separator: separator))
    }
}

// MARK: Building blocks of the page

extension HTML {
    /// Shown where a value is unknown.
    static let dash = HTML("span", class: "empty", "–")

    /// Text, or a dash if it is nil or empty.
    static func text(_ text: String?) -> HTML { text.flatMap { $0.isEmpty ? nil : "\($0)" } ?? .dash }

    static func good(_ text: String) -> HTML { HTML("span", class: "good", "\(text)") }
    static func bad(_ text: String) -> HTML { HTML("span", class: "bad", "\(text)") }
    static func wait(_ text: String) -> HTML { HTML("span", class: "wait", "\(text)") }

    static func level(_ level: ReachabilityLevel) -> HTML {
        HTML("span", class: "chip \(level.tone.rawValue)", "\(level.word)")
    }

    static func party(_ party: FaultParty) -> HTML {
        HTML("span", class: "party", HTML("i", class: "party-\(party.rawValue)"), "\(party)")
    }

    /// A failure with its party, if known.
    static func failure(_ text: HTML, of party: FaultParty?) -> HTML { "\(text)\(party.map { " \(.party($0))" })" }

    /// A name, and what it stands for in small type.
    static func name(_ name: String?, _ url: String?) -> HTML {
        "\(name.map { HTML("b", "\($0)") })\(url.map { HTML("span", class: "url", "\($0)") })"
    }

    /// How often something happened, if more than once.
    static func times(_ count: Int) -> HTML? { count > 1 ? " \(HTML("span", class: "times", "×\(count)"))" : nil }

    /// A time of day in UTC; the script shows it in the reader's time zone.
    ///
    /// `isShort` leaves out the seconds; `hasDay` adds the date.
    static func time(_ moment: WallTime, isShort: Bool = false, hasDay: Bool = false) -> HTML {
        HTML(
            "time",
            with: ["datetime": "\(moment)", "data-short": isShort ? "" : nil, "title": moment.dateAndTime],
            "\(hasDay ? "\(moment.description.prefix(10)) " : "")\(moment.clockTime.dropLast(isShort ? 3 : 0)) UTC")
    }

    /// How long ago something was, such as `8 s`; the script keeps it current.
    static func ago(_ moment: WallTime, at now: WallTime) -> HTML {
        HTML("span", with: ["data-since": "\(moment)"], "\(moment.ago(at: now).shortText)")
    }

    /// A remark in small type below a cell's text.
    static func note(_ text: HTML) -> HTML { HTML("div", class: "note", text) }

    /// An image of shapes, with a label for screen readers; `fit` says how it fills its box.
    static func picture(
        class style: String? = nil, _ viewBox: String, fit: String? = nil, label: String, _ shapes: HTML
    ) -> HTML {
        HTML(
            "svg", class: style,
            with: ["viewBox": viewBox, "preserveAspectRatio": fit, "role": "img", "aria-label": label], shapes)
    }

    /// A rectangle by its position and size; its title is shown on hover.
    static func rect(_ style: String, _ box: [some CustomStringConvertible], title: String? = nil) -> HTML {
        var rect = HTML(markup: "<rect")
        rect.append(attribute: "class", style)
        for (name, number) in zip(["x", "y", "width", "height"], box) {
            rect.append(attribute: name, number.description)
        }
        rect.markup += title.map { ">\(HTML("title", "\($0)").markup)</rect>" } ?? "/>"
        return rect
    }

    /// The position and size of a rectangle, to a tenth.
    static func box(_ x: Double, _ y: Double, _ width: Double, _ height: Double) -> [Double] {
        [x, y, width, height].map { (max(0, $0) * 10).rounded() / 10 }
    }

    /// A table in a box of its own, which scrolls if the table is wider than the page.
    static func table(class style: String?, _ heads: [String], rows: [HTML]) -> HTML {
        let heads = heads.map { HTML("th", with: ["scope": "col"], "\($0)") }
        let parts: HTML = "\(HTML("thead", HTML("tr", heads.joined())))\(HTML("tbody", rows.joined()))"
        return HTML("div", class: "scroll", HTML("table", class: style, parts))
    }

    /// What is hidden below a label until the reader unfolds it; the script knows it by its id.
    static func fold(_ id: String, _ label: String, _ content: HTML) -> HTML {
        HTML("details", with: ["id": id], HTML("summary", "\(label)"), content)
    }
}
