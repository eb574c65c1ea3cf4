public import TidegateCore

extension Monitor {
    /// The checker of tcp, tls and http rungs that monitors use, for looks without a monitor.
    ///
    /// Its thread starts with the first question and ends with the checker. `caFile` is a PEM file of authorities that
    /// replaces the system's.
    public static func webChecker(trusting caFile: String? = nil) -> any HTTPChecker {
        TransferHTTPChecker(caFile: caFile)
    }
}
