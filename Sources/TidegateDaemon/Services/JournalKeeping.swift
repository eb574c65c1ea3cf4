internal import Tidegate
internal import TidegateStore
internal import TidegateCore

/// Opens the journal of a daemon.
struct JournalKeeping: Sendable {
    let settings: DaemonSettings
    let configuration: Configuration.Journal

    /// The journal; nil where no directory was named, the usual one cannot be had, and no tasks wait in it: what needs
    /// no journal still runs in a container without a disk.
    ///
    /// - Throws: ``DaemonError/resource(_:)`` where the journal is damaged, another daemon has it, or the named
    ///   directory cannot be used.
    func open(
        time: any TimeSource, bus: EventBus, without complain: (String) -> Void
    ) throws(DaemonError) -> Journal? {
        var retention = Journal.Retention()
        if let kept = self.configuration.keepCompleted { retention.completed = kept }
        if let kept = self.configuration.pathEvents { retention.pathEvents = kept }
        do {
            return try Journal(
                directory: self.settings.stateDirectory, retention: retention,
                dependencies: Journal.Dependencies(
                    time: time, onEvent: { bus.publish(.daemon(.journal($0))) }))
        } catch .unusable(let path, let message)
            where !self.settings.isStateNamed && !Journal.exists(in: self.settings.stateDirectory)
        {
            complain(JournalOpenError.unusable(path, message).description)
            return nil
        } catch {
            throw .resource(error.description)
        }
    }
}
