public import TidegateModel

extension Monitor {
    /// The checker of tcp, tls and http rungs that monitors use, for looks without a monitor.
    ///
    /// Its thread starts with the first question and ends with the checker.
    public static func webChecker() -> any WebChecker { AttemptWebChecker() }
}
