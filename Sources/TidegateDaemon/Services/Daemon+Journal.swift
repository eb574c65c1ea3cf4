internal import Tidegate
internal import TidegateServer
internal import TidegateStore

extension PageHistoryStorage {
    // More than the page shows: some entries are slices of requests, and one entry can have several lines.
    private static let limit = 2000

    /// The page's history in a journal.
    init(_ journal: Journal) {
        self.init(past: journal.history(newest: PageHistoryStorage.limit)) { journal.recordHistory(at: $0, $1) }
    }
}

extension Daemon {
    /// Opens the journal.
    ///
    /// Nil if the default state directory cannot be used and holds no journal: the daemon runs without durable tasks
    /// then, for example in a container without a disk. `unavailable` receives the reason.
    ///
    /// - Throws: ``DaemonError/resource(_:)`` if the journal is damaged or in use by another daemon, or if an explicitly
    ///   set state directory cannot be used.
    static func openJournal(
        _ settings: DaemonSettings, _ configuration: Configuration.Journal, time: any TimeSource, bus: EventBus,
        unavailable: (String) -> Void
    ) throws(DaemonError) -> Journal? {
        do {
            return try Journal(
                directory: settings.stateDirectory, retention: configuration.retention,
                dependencies: Journal.Dependencies(
                    time: time, onEvent: { bus.publish(.daemon(.journal($0))) }))
        } catch .unusable(let path, let message)
            where !settings.isStateDirectoryExplicit && !Journal.exists(in: settings.stateDirectory)
        {
            unavailable(JournalOpenError.unusable(path, message).description)
            return nil
        } catch {
            throw .resource(error.description)
        }
    }
}
