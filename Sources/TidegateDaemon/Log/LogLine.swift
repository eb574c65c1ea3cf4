internal import TidegateCore

/// The values of `--log.format`.
package enum LogFormat: String, Sendable, CaseIterable {
    case logfmt, json
}

/// One line of the log.
struct LogLine: Sendable {
    var time: String
    var level: String
    var message: String
    /// In the order of the line.
    var fields: [(name: String, value: LogValue)]

    /// The line in `format`, without a line end.
    func text(in format: LogFormat) -> String {
        let fixed = [("time", self.time), ("level", self.level), ("msg", self.message)]
        let pairs = fixed.map { (name: $0.0, value: LogValue.text($0.1)) } + self.fields
        return switch format {
        case .logfmt: pairs.map { "\($0.name)=\(LogfmtText.quoted($0.value.description))" }.joined(separator: " ")
        case .json: JSONValue.object(pairs.map { JSONValue.Member($0.name, $0.value.json) }).description
        }
    }
}
