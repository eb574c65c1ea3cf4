internal import TidegateCore

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
