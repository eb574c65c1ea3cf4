internal import TidegateCore

/// Why a task cannot begin or continue.
typealias TaskProblem = (failure: TaskFailure, sentence: FailureSentence)

/// A task's error in parts, so that a caller that already names the task can omit its name.
struct FailureSentence: Sendable, Hashable, ExpressibleByStringInterpolation {
    /// The resource, if the clause does not name it: a URL without its query.
    var subject: String?
    /// The error: `the server answered 404`.
    var clause: String
    /// The number of attempts after which the task gave up; nil if that is not the reason.
    var attempts: Int?

    init(_ clause: String, of subject: String? = nil) {
        self.subject = subject
        self.clause = clause
    }

    init(stringLiteral clause: String) { self.init(clause) }

    /// The complete sentence: `http://example.com/x: the server answered 503, after 4 attempts`.
    var text: String {
        let named = self.subject.map { "\($0): \(self.clause)" } ?? self.clause
        return self.attempts.map { "\(named), after \($0) attempts" } ?? named
    }
}

extension ResolveFailure {
    /// The sentence about a name that could not be resolved.
    func message(for host: String) -> String {
        switch self {
        case .nameNotFound: "the name \(host) does not exist or has no address"
        case .timedOut: "no name resolver answered about \(host) in time"
        case .failed: "the name resolver failed about \(host)"
        }
    }
}
