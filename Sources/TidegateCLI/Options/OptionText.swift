internal import ArgumentParser
internal import TidegateDaemon
internal import TidegateModel

/// Turns options' texts into values; the error names the option and quotes the text.
enum OptionText {
    static func duration(_ text: String, of option: String) throws -> DurationText {
        try self.naming(option) { () throws(TextError) in try DurationText(parsing: text) }
    }

    /// A finite duration above zero.
    static func positive(_ text: String, of option: String) throws -> Duration {
        guard let duration = try self.duration(text, of: option).duration, duration > .zero else {
            throw ValidationError("\(option): \"\(text)\" has to be longer than 0 and not inf")
        }
        return duration
    }

    static func target(_ text: String, of option: String) throws -> Target {
        try TargetText.parse(text, of: option)
    }

    static func naming<Value>(_ option: String, _ parse: () throws(TextError) -> Value) throws -> Value {
        do {
            return try parse()
        } catch {
            throw ValidationError("\(option): \(error)")
        }
    }
}
