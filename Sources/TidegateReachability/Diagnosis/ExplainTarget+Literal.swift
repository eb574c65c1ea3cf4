internal import TidegateCore

extension ExplainTarget: ExpressibleByStringLiteral {
    /// A target in source code, as ``init(_:zone:)`` parses it; other text counts as a host name that does not exist.
    public init(stringLiteral text: String) {
        self = (try? ExplainTarget(text)) ?? ExplainTarget(Target(host: text))
    }
}
