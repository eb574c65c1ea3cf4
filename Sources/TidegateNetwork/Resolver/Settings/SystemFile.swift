internal import Glibc

/// Reads the small files of /etc and /run.
enum SystemFile {
    // These files are short; 64 KiB is a safe bound. O_NONBLOCK, in case the path is a pipe.
    static func text(_ path: String) -> String {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return "" }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while content.count < 65_536 {
            let count = Glibc.read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            content.append(contentsOf: buffer[..<count])
        }
        return String(decoding: content, as: UTF8.self)
    }
}
