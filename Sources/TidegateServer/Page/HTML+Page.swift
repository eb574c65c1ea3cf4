internal import TidegateCore

/// Building blocks of the page.
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

    /// What is hidden below a label until the reader unfolds it; the script knows it by its id.
    static func fold(_ id: String, _ label: String, _ content: HTML) -> HTML {
        HTML("details", with: ["id": id], HTML("summary", "\(label)"), content)
    }
}
