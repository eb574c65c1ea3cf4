internal import TidegateCore

/// Two labels with fixed sets of values.
struct Label2<First: MetricLabel, Second: MetricLabel>: LabelKey, CaseIterable {
    let first: First
    let second: Second

    init(_ first: First, _ second: Second) {
        self.first = first
        self.second = second
    }

    static var allCases: [Self] { First.allCases.flatMap { first in Second.allCases.map { Self(first, $0) } } }

    var values: [String] { [self.first.label, self.second.label] }
}

/// Labels whose number of values is limited by other types.
struct TextLabels: LabelKey {
    let values: [String]
}

extension TextLabels {
    init(_ values: String...) { self.init(values: values) }
}

/// The `method` label: `_OTHER` for anything except PATCH and the methods of RFC 9110.
///
/// There is no raw value, so that finding a child hashes a number rather than a string.
enum RequestMethod: MetricLabel {
    case get, head, post, put, patch, delete, options, trace, connect, other

    private static let byName = Dictionary(uniqueKeysWithValues: Self.allCases.map { ($0.label, $0) })

    // Nearly every request is a GET, which needs no hashing.
    init(_ method: String) { self = method == "GET" ? .get : Self.byName[method] ?? .other }

    var label: String { self == .other ? "_OTHER" : "\(self)".uppercased() }
}

/// The `code_class` label: the first digit of the status.
enum CodeClass: Int, MetricLabel {
    case none, informational, success, redirection, clientError, serverError

    init(status: Int?) { self = CodeClass(rawValue: (status ?? 0) / 100) ?? .none }

    var label: String { self == .none ? "none" : "\(self.rawValue)xx" }
}

/// The labels of attempts: the method; three digits, `none` or `unsent`; and the host if hosts are labelled.
struct AttemptKey: LabelKey {
    let method: RequestMethod
    let status: Int?
    let isSent: Bool
    let host: String?

    init(method: RequestMethod, status: Int?, isSent: Bool = true, host: String? = nil) {
        self.method = method
        self.status = CodeClass(status: status) == .none ? nil : status
        self.isSent = isSent
        self.host = host
    }

    var values: [String] {
        [self.method.label, self.status.map(String.init) ?? (self.isSent ? "none" : "unsent")]
            + (self.host.map { [$0] } ?? [])
    }
}
