import java.io.File;
import java.util.concurrent.ConcurrentHashMap;

import org.apache.zookeeper.server.DataTree;
import org.apache.zookeeper.server.persistence.FileTxnSnapLog;

/** Sets the counter of a node in the data of a stopped server: `SetCounter DATA PATH NEXT`. */
public class SetCounter {
    public static void main(String[] arguments) throws Exception {
        File directory = new File(arguments[0]);
        FileTxnSnapLog files = new FileTxnSnapLog(directory, directory);
        DataTree tree = new DataTree();
        ConcurrentHashMap<Long, Integer> sessions = new ConcurrentHashMap<>();
        files.restore(tree, sessions, (header, transaction, digest) -> { });
        tree.getNode(arguments[1]).stat.setCversion(Integer.parseInt(arguments[2]));
        files.save(tree, sessions, true);
        files.close();
    }
}
