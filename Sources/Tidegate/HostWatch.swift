internal import TidegateReachability

/// Has this host diagnosed again and again, for as long as it is kept.
final class HostWatch: Sendable {
    let diagnostics: HostDiagnostics
    private let task: Task<Void, Never>?

    /// A watch; if it is not repeated, the host is diagnosed only when somebody asks for it.
    init(_ diagnostics: HostDiagnostics, isRepeated: Bool) {
        self.diagnostics = diagnostics
        self.task = isRepeated ? Task { await diagnostics.run() } : nil
    }

    deinit { self.stop() }

    /// Ends the repetition.
    func stop() { self.task?.cancel() }
}
