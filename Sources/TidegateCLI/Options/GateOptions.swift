internal import ArgumentParser
internal import Tidegate

/// What `wait` and `run` wait for.
struct GateOptions: ParsableArguments {
    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("Condition to wait for (repeatable; default: route).", valueName: "condition"))
    var conditions: [String] = []

    @OptionGroup var family: FamilyOptions
    @OptionGroup var internetCheck: InternetCheckOptions
    @OptionGroup var authority: AuthorityOptions

    @Flag(name: .shortAndLong, help: "Print errors only.")
    var quiet = false

    /// The options as values.
    struct Parsed: Sendable {
        var wait: WaitConfiguration
        /// The check behind the condition `internet`.
        var internetCheck: InternetCheckPolicy
        /// The authorities to verify servers against; nil for the system's.
        var caFile: String?
    }

    /// The options with a `timeout`, which is nil for as long as it takes.
    func parsed(timeout: Duration?) throws -> Parsed {
        let conditions = try self.conditions.map(ConditionText.parse)
        return Parsed(
            wait: WaitConfiguration(
                conditions.isEmpty ? [.route(family: nil)] : conditions, family: self.family.family, timeout: timeout),
            internetCheck: try self.internetCheck.policy(isRequired: conditions.contains(.internet)),
            caFile: self.authority.caFile)
    }
}
