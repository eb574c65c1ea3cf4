internal import Tidegate
internal import TidegateDaemon

extension OneShotMonitor {
    /// Waits until the conditions hold; returns nil if they do, and otherwise why not.
    func wait(_ options: GateOptions.Parsed, _ display: WaitDisplay) async -> String? {
        defer { display.clear() }
        display.begin(options.wait)
        do throws(WaitError) {
            let diagnostics = self.diagnostics(options.internetCheck, trusting: options.caFile)
            try await diagnostics.wait(for: options.wait) { display.show($0, of: options.wait) }
            return nil
        } catch {
            return options.wait.message(for: error)
        }
    }
}

extension WaitConfiguration {
    /// The last line of a wait that has failed.
    fileprivate func message(for error: WaitError) -> String {
        switch error {
        case .cancelled: return "interrupted"
        case .timedOut(nil): return "the conditions did not hold for \(DurationText(self.stable)) in time"
        case .timedOut(let unmet?):
            guard let limit = self.timeout, limit > .zero else { return WaitText.unmet(unmet) }
            return "gave up after \(DurationText(limit)): \(WaitText.unmet(unmet))"
        }
    }
}
