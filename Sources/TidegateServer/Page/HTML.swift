internal import TidegateCore

/// One cell of a table, not yet escaped.
enum Cell {
    case text(String?)
    case good(String)
    case bad(String)
    case wait(String)
    case level(ReachabilityLevel)
    case party(FaultParty)
    /// HTML that is escaped already.
    case html(String)

    var html: String {
        switch self {
        case .text(let text): text.flatMap { $0.isEmpty ? nil : HTML.escaped($0) } ?? "<span class=\"empty\">–</span>"
        case .good(let text): "<span class=\"good\">\(HTML.escaped(text))</span>"
        case .wait(let text): "<span class=\"wait\">\(HTML.escaped(text))</span>"
        case .bad(let text): "<span class=\"bad\">\(HTML.escaped(text))</span>"
        case .level(let level): "<span class=\"chip \(level.tone.rawValue)\">\(HTML.escaped(level.word))</span>"
        case .party(let party):
            "<span class=\"party\"><i class=\"party-\(party.rawValue)\"></i>\(HTML.escaped(party.description))</span>"
        case .html(let html): html
        }
    }
}

/// HTML as text.
enum HTML {
    /// Text between tags or inside a quoted attribute.
    static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { html, scalar in
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            case "\"": html += "&quot;"
            case "'": html += "&#39;"
            default: html.unicodeScalars.append(scalar)
            }
        }
    }

    /// A time of day in UTC; the script shows it in the reader's time zone.
    ///
    /// `isShort` leaves out the seconds.
    static func time(_ moment: WallTime, isShort: Bool = false) -> String {
        let text = moment.clockTime.dropLast(isShort ? 3 : 0)
        return
            "<time datetime=\"\(moment)\"\(isShort ? " data-short" : "") title=\"\(moment.dateAndTime)\">\(text) UTC</time>"
    }

    /// How long ago something was, which the script counts on: `8 s`.
    static func ago(_ moment: WallTime, at now: WallTime) -> String {
        "<span data-since=\"\(moment)\">\(moment.ago(at: now).shortText)</span>"
    }

    /// `template` with each `{{name}}` replaced; what is put in is not looked at again.
    static func filled(_ template: String, with values: [String: String]) -> String {
        let pieces = template.split(separator: "{{", omittingEmptySubsequences: false)
        return pieces.dropFirst().reduce(into: String(pieces.first ?? "")) { html, piece in
            let halves = piece.split(separator: "}}", maxSplits: 1, omittingEmptySubsequences: false)
            html += (halves.first.flatMap { values[String($0)] } ?? "") + (halves.dropFirst().first ?? "")
        }
    }
}

extension WallTime {
    /// The moment with its date, to the second: `2026-11-21 12:03:11 UTC`.
    var dateAndTime: String { "\(self.description.prefix(10)) \(self.clockTime) UTC" }

    /// How long this moment is after `earlier`; negative if it is before.
    func since(_ earlier: WallTime) -> Duration { .microseconds(self.microseconds - earlier.microseconds) }

    static func - (time: WallTime, duration: Duration) -> WallTime {
        WallTime(microseconds: time.microseconds - duration.wholeNanoseconds / 1000)
    }
}
