internal import Tidegate
internal import TidegateDaemon

extension OneShotMonitor {
    /// Waits until the conditions hold; returns nil if they do, and otherwise why not.
    ///
    /// `print` receives a line about the unmet condition whenever it fails on another rung.
    func wait(_ options: WaitOptions.Parsed, print: (String) -> Void) async -> String? {
        do throws(WaitError) {
            try await self.diagnostics(options.internetCheck).wait(for: options.wait) { print("waiting: \($0.line)") }
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
            guard let limit = self.timeout, limit > .zero else { return unmet.line }
            return "gave up after \(DurationText(limit)): \(unmet.line)"
        }
    }
}

extension UnmetCondition {
    /// Its description as one line: text of a server may be long, and must not control the terminal.
    fileprivate var line: String {
        let text = LineWrapper.printable(self.description)
        return text.count > 240 ? "\(text.prefix(239))…" : text
    }
}
