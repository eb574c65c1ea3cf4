/// Values as logfmt writes them.
package enum LogfmtText {
    /// A value, in quotation marks if parsers would not read it as one: they split at spaces and equals signs, and
    /// unquote what begins with a quotation mark.
    package static func quoted(_ value: String) -> String {
        let special = " =\"\\".unicodeScalars
        let needsQuotes =
            value.isEmpty || value.unicodeScalars.contains { $0.controlsTerminal || special.contains($0) }
        return needsQuotes ? JSONValue.string(value).description : value
    }
}
