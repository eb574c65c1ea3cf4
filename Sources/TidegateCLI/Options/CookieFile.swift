internal import Glibc
internal import Tidegate
internal import TidegateCore
internal import TidegateDaemon

/// A file of cookies in Netscape's format, as curl(1) reads and writes it.
enum CookieFile {
    private static let maxBytes = 4 << 20

    /// The cookies of a file; none if there is no such file yet.
    static func read(_ path: String) throws(TextError) -> CookieJar {
        guard access(path, F_OK) == 0 else { return CookieJar() }
        do throws(TextError) {
            return CookieJar(netscape: try TextFile.read(path, atMost: self.maxBytes))
        } catch {
            throw TextError("\(path) \(error)")
        }
    }

    /// Writes a new file, for its owner only, and puts it in the old one's place.
    static func write(_ jar: CookieJar, to path: String) throws(TextError) {
        let fresh = "\(path).new"
        // What a crash left there is not written into.
        unlink(fresh)
        let descriptor = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw TextError("\(fresh) cannot be written: \(TextFile.errorMessage(errno))") }
        let bytes = Array(jar.netscapeText.utf8)
        let count = Glibc.write(descriptor, bytes, bytes.count)
        let code = count == bytes.count ? 0 : count < 0 ? errno : ENOSPC
        close(descriptor)
        guard code == 0 else {
            unlink(fresh)
            throw TextError("\(fresh) cannot be written: \(TextFile.errorMessage(code))")
        }
        guard rename(fresh, path) == 0 else {
            throw TextError("\(path) cannot be written: \(TextFile.errorMessage(errno))")
        }
    }
}
