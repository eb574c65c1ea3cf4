package import TidegateModel

/// Looks at web servers with the same machinery that makes requests.
package struct AttemptWebChecker: WebChecker {
    /// A checker with a thread of its own, `tg-check`, that starts with the first question and ends with the checker.
    ///
    /// `onThreadStart` runs on it first, for tests to enter a namespace.
    package init(onThreadStart: @escaping @Sendable () -> Void = {}) {}

    /// Asks once.
    package func ask(_ question: WebQuestion) async -> WebAnswer {
        WebAnswer(reached: .nothing, failure: .internal, text: "not yet built")
    }
}
