internal import Logging
internal import Synchronization
internal import Tidegate
internal import TidegateServer

/// Reloads the configuration file, one reload at a time; an invalid file changes nothing.
actor ConfigurationReloader {
    /// The changed keys that need a restart, or the problems of the file.
    typealias Outcome = Result<[String], ConfigurationError>

    private let file: String
    private let started: Configuration
    private let status: ReloadStatus
    private let logger: Logger
    private let apply: @Sendable (Configuration) async -> Void
    // The most recently requested reload.
    private var last: Task<Outcome, Never>?

    /// A reloader of the file from which a process `started`; `apply` makes a valid file take effect.
    init(
        file: String, started: Configuration, status: ReloadStatus, logger: Logger,
        apply: @escaping @Sendable (Configuration) async -> Void
    ) {
        self.file = file
        self.started = started
        self.status = status
        self.logger = logger
        self.apply = apply
    }

    /// Reloads after any earlier reloads; returns once the file has taken effect.
    func reload() async -> Outcome {
        let former = self.last
        // A separate task, because a client that disconnects must not interrupt a reload.
        let own = Task {
            _ = await former?.value
            return await self.readAndApply()
        }
        self.last = own
        return await own.value
    }

    /// A reload as the endpoint reports it.
    nonisolated var answer: ConfigurationReload {
        { () async throws(ReloadFailure) in
            switch await self.reload() {
            case .success(let waiting): return waiting
            case .failure(let error):
                let problem = error.problems.first?.description ?? self.file
                let isLong = problem.utf8.count > 200
                throw ReloadFailure(
                    problem: isLong ? String(decoding: problem.utf8.prefix(197), as: UTF8.self) + "..." : problem,
                    others: error.problems.count - 1)
            }
        }
    }

    private func readAndApply() async -> Outcome {
        let next: Configuration
        do {
            next = try Configuration.load(file: self.file)
        } catch {
            for problem in error.problems {
                self.logger.error("invalid configuration", metadata: ["problem": "\(problem)"])
            }
            self.status.record(.configuration, isGood: false)
            return .failure(error)
        }
        for warning in next.secretFiles.compactMap(SecretFile.warning(about:)) { self.logger.warning("\(warning)") }
        await self.apply(next)
        self.status.record(.configuration, isGood: true)
        // Compared with the running configuration rather than the previous file: a changed key needs a restart until
        // there is one.
        let waiting = next.keysThatNeedRestart(from: self.started)
        if waiting.isEmpty {
            self.logger.info("configuration reloaded")
        } else {
            self.logger.warning(
                "configuration reloaded, restart required for changed keys",
                metadata: ["not_applied": "\(waiting.joined(separator: ", "))"])
        }
        return .success(waiting)
    }
}

/// Whether the configuration files are valid; publishes the result of each reload.
final class ReloadStatus: Sendable {
    /// A file that can be reloaded.
    enum File: Sendable, Hashable {
        case configuration, web
    }

    private let bus: EventBus
    private let invalid = Mutex<Set<File>>([])

    /// The files are valid at the start.
    init(bus: EventBus) { self.bus = bus }

    /// Records the result of a reload.
    ///
    /// If the other file is still invalid, a success is followed by another failure event, because the metric shows the
    /// last event for both files.
    func record(_ file: File, isGood: Bool) {
        let isAllGood = self.invalid.withLock { invalid in
            if isGood { invalid.remove(file) } else { invalid.insert(file) }
            return invalid.isEmpty
        }
        self.bus.publish(.daemon(.configurationLoaded(isGood: isGood)))
        if isGood, !isAllGood { self.bus.publish(.daemon(.configurationLoaded(isGood: false))) }
    }
}

/// The web configuration file of a daemon, which reloads it when it changes.
struct WebService: Sendable {
    private let path: String
    let first: WebFile
    let access: LoadedAccessPolicy

    /// Reads the file.
    init(path: String, at moment: WallTime) throws(ConfigurationError) {
        self.path = path
        self.first = WebFile(path, at: moment)
        self.access = try self.first.result.get()
    }

    /// Follows the file from now on; reports reloads to `status` and to the log.
    func source(time: any TimeSource, status: ReloadStatus, logger: Logger) -> WebFileSource {
        WebFileSource(path: self.path, first: self.first, access: self.access, time: time) { report in
            switch report {
            case .reloaded:
                logger.info("web configuration reloaded")
                status.record(.web, isGood: true)
            case .rejected(let error):
                status.record(.web, isGood: false)
                for problem in error.problems {
                    logger.error("invalid web configuration, keeping the old one", metadata: ["problem": "\(problem)"])
                }
            }
        }
    }
}
