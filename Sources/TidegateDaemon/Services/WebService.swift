internal import Logging
internal import ServiceLifecycle
internal import TidegateCore
internal import TidegateProbes
internal import TidegateServer

/// The web configuration file of a daemon, which is reloaded when it changes.
struct WebService: Sendable {
    private let path: String
    private let first: WebFile
    private let access: LoadedAccessPolicy

    /// Reads the file.
    init(path: String, at moment: WallTime) throws(ConfigurationError) {
        self.path = path
        self.first = WebFile(path, at: moment)
        self.access = try self.first.result.get()
    }

    /// True if the file has certificates.
    var isEncrypted: Bool { self.access.isEncrypted }

    /// True if every client has to show who it is.
    var authenticates: Bool { self.access.authenticates }

    /// What the file sets that has no effect here, and keys that every user may read, a sentence for each.
    var warnings: [String] { self.first.warnings }

    /// Follows the file from now on; reports reloads to `status` and the log.
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

/// Serves the HTTP endpoint; the daemon exits if it cannot listen.
struct EndpointService: Service {
    let endpoint: Endpoint
    let probes: ProbeRunner
    /// Nil if there is no web configuration file.
    let web: WebService?
    let logger: Logger

    func run() async throws {
        try await self.endpoint.run { addresses in
            self.probes.listens(on: Set(addresses.map { UInt16(clamping: $0.port) }))
            for address in addresses { self.logger.info("listening", metadata: ["address": "\(address)"]) }
            guard let page = addresses.first?.page(isEncrypted: self.web?.isEncrypted ?? false) else { return }
            self.logger.info("open \(page)")
        }
    }
}

/// The configuration files of a daemon at its start, with their errors.
struct ConfigurationFiles: Sendable {
    private(set) var configuration = Configuration()
    private(set) var web: WebService?
    private(set) var errors: [ConfigurationError] = []

    /// Reads the files of the settings.
    init(_ settings: DaemonSettings, at moment: WallTime) {
        do throws(ConfigurationError) {
            if let file = settings.configurationFile { self.configuration = try Configuration.load(file: file) }
        } catch {
            self.errors.append(error)
        }
        do throws(ConfigurationError) {
            if let file = settings.webConfigurationFile { self.web = try WebService(path: file, at: moment) }
        } catch {
            self.errors.append(error)
        }
    }
}
