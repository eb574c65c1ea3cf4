import Foundation

/// What a reader sees on the status page.
struct SidecarPage {
    /// The first line.
    let headline: String
    /// Since when, and what to do.
    let detail: String
    /// How the first line looks: `good`, `bad`, `wait` or `plain`.
    let tone: String
    /// The rungs with a check mark.
    let greenRungs: Set<String>
    /// The rows of the targets, by name.
    let targets: [String: String]

    private static let rungs = ["monitor", "interface", "carrier", "address", "route", "gateway", "dns", "internet"]

    init(_ html: String) {
        self.headline = Self.text(Self.part(of: html, from: "<h1>", to: "</h1>"))
        self.detail = Self.text(Self.part(of: Self.part(of: html, from: "</h1>", to: "<dl>"), from: "<p>", to: "</p>"))
        self.tone = Self.part(of: html, from: "<header class=\"hero ", to: "\"")
        let ladder = Self.part(of: html, from: "<ol class=\"ladder\">", to: "</ol>").components(separatedBy: "<li>")
        self.greenRungs = Set(
            zip(Self.rungs, ladder.dropFirst()).filter { $1.contains("reading ok\"") }.map(\.0))
        let rows = Self.part(of: html, from: "<section id=\"targets\"", to: "</section>")
            .components(separatedBy: "<tr").dropFirst().map { "<tr" + $0 }
        self.targets = Dictionary(
            rows.map { (Self.part(of: $0, from: "<b>", to: "</b>"), Self.text($0)) }
        ) { first, _ in first }
    }

    private static func part(of html: String, from start: String, to end: String) -> String {
        guard let first = html.range(of: start),
            let last = html.range(of: end, range: first.upperBound..<html.endIndex)
        else { return "" }
        return String(html[first.upperBound..<last.lowerBound])
    }

    private static func text(_ html: String) -> String {
        let text = html.replacingOccurrences(of: "<[^>]*>", with: "\u{1}", options: .regularExpression)
        let entities = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
        return entities.reduce(text.replacingOccurrences(of: "\u{1}", with: "")) {
            $0.replacingOccurrences(of: $1.0, with: $1.1)
        }
    }
}
